"""The roofline: FLOP/s a machine can reach against FLOPs done per byte read, and where work lands on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from minillm.calibrate import Calibration
from minillm.hardware import GPU
from minillm.viz.style import COLORS, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Machine = Calibration | GPU
# 2 FLOPs per weight of 2 bytes, each weight read once: whatever the model.
DECODE = (1.0, "decoding one request,\n16-bit weights")
_LINES = (("prefill", "-"), ("shared", "--"), ("decode", "-."), ("waiting", ":"), ("reference", "-"))


class Point(NamedTuple):
    """Work that was measured: FLOPs per byte it reads, FLOP/s it reached, and its color's name in COLORS."""

    label: str
    intensity: float
    rate: float
    color: str = "decode"


def one_roofline(
    machine: Machine, dtype: str, points: Iterable[Point] = (), title: str | None = None
) -> Figure:
    """One machine's roof in one dtype, its ridge, and measured work under it.

    Raises UnknownHardware where the machine has no rate for the dtype.
    """
    from matplotlib import pyplot

    points = list(points)
    ridge, peak = machine.ridge(dtype), machine.peak(dtype)
    xs = [ridge / 200, ridge * 200, *(point.intensity for point in points)]
    with styled():
        figure, axes = pyplot.subplots()
        _roof(axes, machine, dtype, min(xs) / 1.5, max(xs) * 1.5, color=COLORS["reference"])
        axes.plot([ridge, ridge], [0, peak], color=COLORS["reference"], linestyle=":", linewidth=1)
        axes.annotate(
            f"ridge: {ridge:.3g} FLOP/byte", (ridge, peak), xytext=(0, 7), textcoords="offset points"
        )
        for point in points:
            axes.plot(point.intensity, point.rate, "o", color=COLORS[point.color], markersize=8)
            axes.annotate(
                point.label, (point.intensity, point.rate), xytext=(8, -12), textcoords="offset points"
            )
        _finish(axes, [machine.roofline(min(xs), dtype), *(point.rate for point in points)], peak)
        axes.set_title(title or f"{machine.name}, {dtype}: memory limits work left of {ridge:.2g} FLOP/byte")
    return figure


def compare_rooflines(
    machines: Sequence[tuple[Machine, str]],
    mark: tuple[float, str] | None = DECODE,
    title: str | None = None,
) -> Figure:
    """Roofs of several machines, each in its own dtype; the first, in color, is the one in question.

    mark: an intensity to draw a line at, with its label. At most six machines: raises ValueError for more or
    none, UnknownHardware where one has no rate for its dtype.
    """
    from matplotlib import pyplot

    if not 1 <= len(machines) <= 1 + len(_LINES):
        raise ValueError(f"compare one to {1 + len(_LINES)} machines in one figure; got {len(machines)}.")
    ridges = [machine.ridge(dtype) for machine, dtype in machines]
    low, high = min([*ridges, mark[0] if mark else ridges[0]]) / 10, max(ridges) * 8
    styles = [("accent", "-"), *_LINES]
    with styled():
        figure, axes = pyplot.subplots(figsize=(7.5, 4.6))
        for (machine, dtype), ridge, (color, line) in zip(machines, ridges, styles, strict=False):
            label = f"{machine.name}, {dtype}: ridge {ridge:.3g}"
            _roof(axes, machine, dtype, low, high, color=COLORS[color], linestyle=line, label=label)
            axes.plot(ridge, machine.peak(dtype), "o", color=COLORS[color], markersize=5)
        lows = [machine.roofline(low, dtype) for machine, dtype in machines]
        if mark is not None:
            axes.axvline(mark[0], color=COLORS["reference"], linewidth=1, linestyle=":")
            axes.annotate(
                mark[1], (mark[0], min(lows)), xytext=(5, 0), textcoords="offset points", fontsize=9
            )
        _finish(axes, lows, max(machine.peak(dtype) for machine, dtype in machines))
        axes.legend(loc="upper center", bbox_to_anchor=(0.45, -0.16), ncols=2, fontsize=9)
        axes.set_title(title or f"Ridges lie between {min(ridges):.2g} and {max(ridges):.3g} FLOP/byte")
    return figure


def _roof(axes: Axes, machine: Machine, dtype: str, low: float, high: float, **style: str) -> None:
    corners = [low, machine.ridge(dtype), high]
    axes.plot(corners, [machine.roofline(x, dtype) for x in corners], **style)


def _finish(axes: Axes, lows: Iterable[float], peak: float) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(min(lows) / 2, peak * 3)
    axes.set_xlabel("arithmetic intensity (FLOP per byte read)")
    axes.set_ylabel("attainable FLOP/s")
