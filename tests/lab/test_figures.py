"""Figures and their style."""

import itertools
import math

import matplotlib.pyplot as plt
import pytest
from matplotlib import image, rcParams
from matplotlib.colors import to_rgb

from minillm.lab.figures import png, show
from minillm.viz.style import COLORS, apply_style, styled


@pytest.fixture(autouse=True)
def clean():
    with plt.rc_context():
        yield
    plt.close("all")


def test_show_wants_alt_text_and_closes_the_figure(capsys):
    figure, _ = plt.subplots()
    with pytest.raises(ValueError, match="alt"):
        show(figure, alt=" ")
    show(figure, alt="Nothing yet.")
    assert not plt.fignum_exists(figure.number)  # other tests in this process may have left theirs open
    assert "Nothing yet." in capsys.readouterr().out


@pytest.mark.parametrize("transparent", [True, False])
def test_png_is_opaque(tmp_path, transparent):
    figure, _ = plt.subplots(facecolor="none" if transparent else "white")
    (tmp_path / "a.png").write_bytes(png(figure))
    pixels = image.imread(tmp_path / "a.png")
    assert pixels.shape[2] == 3 or pixels[..., 3].min() == 1.0


def linear(color):
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]


def product(matrix, vector):
    return [sum(m * v for m, v in zip(row, vector, strict=True)) for row in matrix]


def luminance(color):
    return product([(0.2126, 0.7152, 0.0722)], linear(color))[0]


def lab(rgb):
    """CIE L*a*b* of a linear sRGB color: in this space a distance of 2.3 is just noticeable."""
    xyz = product([(0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505)], rgb)
    x, y, z = (value / white for value, white in zip(xyz, (0.9505, 1.0, 1.089), strict=True))
    x, y, z = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


# Machado, Oliveira and Fernandes (2009), severity 1: what eyes without one kind of cone see, in linear RGB.
EYES = {
    "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


@pytest.mark.parametrize("matrix", EYES.values(), ids=EYES)
def test_colors_stay_apart_for_color_blind_eyes(matrix):
    seen = {
        name: [min(max(c, 0), 1) for c in product(matrix, linear(color))] for name, color in COLORS.items()
    }
    for one, other in itertools.combinations(COLORS, 2):
        assert math.dist(lab(seen[one]), lab(seen[other])) > 15, (one, other)


def test_lines_and_bars_stand_out_from_the_white_background():
    for name, color in COLORS.items():
        contrast = 1.05 / (luminance(color) + 0.05)
        assert contrast >= (1.2 if name == "free" else 2.0), (name, contrast)


def test_prefill_and_decode_differ_in_a_gray_print():
    light, dark = luminance(COLORS["decode"]), luminance(COLORS["prefill"])
    assert (light + 0.05) / (dark + 0.05) > 2


def test_style_is_applied_for_a_block_or_for_good():
    before = rcParams["axes.spines.top"]
    with styled():
        assert rcParams["axes.spines.top"] is False
    assert rcParams["axes.spines.top"] == before
    apply_style()
    assert rcParams["axes.spines.top"] is False and rcParams["svg.hashsalt"] == "minillm"
