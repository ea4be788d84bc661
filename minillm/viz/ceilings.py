"""Tokens per second on a logarithmic axis: machines down the side, a dot per number of bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from minillm.viz.style import COLORS, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLES = (("prefill", "o"), ("decode", "s"), ("shared", "D"), ("waiting", "^"))


def ceiling_dots(ceilings: Mapping[str, Mapping[str, float]], title: str) -> Figure:
    """A row per machine, a dot per series, each with its number. Equal distances are equal ratios.

    ceilings: machine -> series -> tokens/s, the same series (at most four) for every machine.
    Raises ValueError for other shapes.
    """
    from matplotlib import pyplot

    series = list(next(iter(ceilings.values()), {}))
    if not 1 <= len(series) <= len(_STYLES) or any(list(row) != series for row in ceilings.values()):
        given = [list(row) for row in ceilings.values()] or "no machine"
        raise ValueError(f"give every machine the same one to {len(_STYLES)} series; got {given}.")
    rows = range(len(ceilings))
    with styled():
        figure, axes = pyplot.subplots(figsize=(7.5, 1.6 + 0.45 * len(ceilings)))
        for name, (color, marker) in zip(series, _STYLES, strict=False):
            values = [row[name] for row in ceilings.values()]
            axes.plot(values, rows, marker, color=COLORS[color], markersize=7, label=name)
            for value, row in zip(values, rows, strict=True):
                text = f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
                offset = {"xytext": (0, 7), "textcoords": "offset points", "ha": "center"}
                axes.annotate(text, (value, row), fontsize=9, **offset)
        axes.set_yticks(rows, list(ceilings))
        axes.set_ylim(len(ceilings) - 0.5, -0.8)
        axes.set_xscale("log")
        axes.margins(x=0.08)
        axes.set_xlabel("tokens per second for one user, at most")
        axes.legend(loc="upper center", bbox_to_anchor=(0.35, -0.16), ncols=len(series))
        axes.set_title(title)
    return figure
