"""One look for every figure: colors that survive color blindness, readable text, an opaque background."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

# Okabe and Ito's palette ("Color Universal Design", 2008): told apart with any common color blindness. Those
# that appear together differ in luminance too, so that a gray print still reads.
COLORS = {
    "prefill": "#0072B2",  # blue
    "decode": "#E69F00",  # orange
    "waiting": "#CC79A7",  # purple
    "free": "#E5E5E5",  # light gray
    "shared": "#009E73",  # green
    "reference": "#5F5F5F",  # dark gray: what a peer or a bound does
    "accent": "#D55E00",  # vermilion: the one thing to look at
}

_STYLE: dict[str, Any] = {
    "figure.figsize": (7.0, 3.8),
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.size": 10.5,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#EBEBEB",
    "lines.linewidth": 2.0,
    "legend.frameon": False,
    "svg.hashsalt": "minillm",  # the same SVG from run to run
}


def _settings() -> dict[str, Any]:
    from matplotlib import cycler

    order = ("prefill", "decode", "shared", "waiting", "accent", "reference")
    return _STYLE | {"axes.prop_cycle": cycler(color=[COLORS[name] for name in order])}


def apply_style() -> None:
    """Use the style for every figure from here on; once, in a notebook's import cell."""
    import matplotlib as mpl

    mpl.rcParams.update(_settings())


@contextlib.contextmanager
def styled() -> Iterator[None]:
    """Use the style inside a `with` block only: what a function that draws one figure does."""
    import matplotlib as mpl

    with mpl.rc_context(_settings()):
        yield
