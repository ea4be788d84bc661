"""The figures show the machines' own numbers, and say what they are in titles and labels."""

import matplotlib
import pytest

from minillm.hardware import UnknownHardware, gpu
from minillm.viz.roofline import Point, compare_rooflines, one_roofline

matplotlib.use("agg")
H100 = gpu("h100-sxm")


@pytest.fixture(autouse=True)
def closed() -> object:
    yield
    matplotlib.pyplot.close("all")


def test_one_roof_bends_at_the_ridge_and_never_exceeds_the_peak() -> None:
    axes = one_roofline(H100, "bfloat16").axes[0]
    xs, ys = axes.lines[0].get_data()
    assert xs[1] == H100.ridge("bfloat16")
    assert ys[1] == pytest.approx(ys[2]) == pytest.approx(989e12)
    assert ys[0] == pytest.approx(xs[0] * 3.35e12)
    assert "295" in "".join(text.get_text() for text in axes.texts)


def test_points_stand_where_they_were_measured_and_inside_the_axes() -> None:
    point = Point("decode", 0.01, 1e9)
    axes = one_roofline(H100, "bfloat16", [point]).axes[0]
    assert (0.01, 1e9) in [(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines]
    assert min(axes.lines[0].get_xdata()) < 0.01  # the roof reaches over it
    assert axes.get_ylim()[0] < 1e9
    assert "decode" in [text.get_text() for text in axes.texts]


def test_compared_roofs_are_named_with_their_ridges() -> None:
    axes = compare_rooflines([(H100, "bfloat16"), (gpu("t4"), "float16")]).axes[0]
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["NVIDIA H100 SXM, bfloat16: ridge 295", "NVIDIA T4, float16: ridge 203"]
    assert "2e+02 and 295" in axes.get_title(loc="left")


@pytest.mark.parametrize("figure", [one_roofline(H100, "bfloat16"), compare_rooflines([(H100, "float8")])])
def test_axes_are_labelled_with_units_and_titled(figure: object) -> None:
    axes = figure.axes[0]
    assert "FLOP per byte" in axes.get_xlabel()
    assert "FLOP/s" in axes.get_ylabel()
    assert axes.get_title(loc="left")


def test_wrong_requests_are_named() -> None:
    with pytest.raises(UnknownHardware, match="float8"):
        one_roofline(gpu("a100-80gb"), "float8")
    with pytest.raises(ValueError, match="got 0"):
        compare_rooflines([])
    with pytest.raises(ValueError, match="got 7"):
        compare_rooflines([(H100, "bfloat16")] * 7)
