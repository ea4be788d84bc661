"""Prefill and decode in pictures: intensity, tokens per second, who waits for whom, what a batch buys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from minillm.hardware import Roofline
from minillm.models.config import ModelConfig
from minillm.viz.style import COLORS, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES = ("-", "--", "-.", ":")


class Request(NamedTuple):
    """When a request was sent, when its prefill began, and when each of its tokens came; seconds."""

    sent: float
    began: float
    stamps: Sequence[float]


class Speeds(NamedTuple):
    """Seconds of steps of one kind, by the number of tokens in the step: measured, and as predicted."""

    measured: Mapping[int, float]
    predicted: Mapping[int, float]


def intensity_chart(
    tokens: Sequence[int], curves: Mapping[str, Sequence[float]], ridges: Mapping[str, float]
) -> Figure:
    """FLOP per byte against tokens in the step, one line per layer or model, and machines' ridges across."""
    from matplotlib import pyplot

    with styled():
        figure, axes = pyplot.subplots(figsize=(7.0, 4.2))
        colors = [COLORS[name] for name in ("prefill", "decode", "shared", "waiting")]
        for (label, values), line, color in zip(curves.items(), LINES, colors, strict=False):
            axes.plot(tokens, values, linestyle=line, color=color, label=label)
        for index, (label, ridge) in enumerate(ridges.items()):
            axes.axhline(ridge, color=COLORS["reference"], linestyle=":", linewidth=1.2)
            # Ridges lie close together: each label stands a little further right than the one before.
            place = (tokens[2 * index], ridge)
            axes.annotate(
                f"{label}: {ridge:.3g}", place, xytext=(0, 3), textcoords="offset points", fontsize=9
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(tokens[::2], [f"{n:,}" for n in tokens[::2]])
        axes.set_xlabel("tokens in the step")
        axes.set_ylabel("FLOP per byte moved")
        axes.legend(loc="lower right")
        axes.set_title("A step crosses a ridge when it holds enough tokens")
    return figure


def tokens_per_second(decode: Speeds, prefill: Speeds, ridge_tokens: float) -> Figure:
    """Left: tokens/s against tokens in the step, measured and predicted. Right: share of the bound."""
    from matplotlib import pyplot

    with styled():
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.5, 4.0))
        for speeds, name, mark in ((decode, "decode", "o"), (prefill, "prefill", "s")):
            counts = sorted(speeds.measured)
            label = {"decode": "decode: batch of that size", "prefill": "prefill: prompt of that length"}[
                name
            ]
            left.plot(
                counts,
                [n / speeds.measured[n] for n in counts],
                mark,
                color=COLORS[name],
                markersize=7,
                label=label,
            )
            shares = [100 * speeds.predicted[n] / speeds.measured[n] for n in counts]
            right.plot(counts, shares, f"{mark}-", color=COLORS[name], linewidth=1.2, label=name)
        both = decode.predicted | prefill.predicted
        counts = sorted(both)
        left.plot(
            counts,
            [n / both[n] for n in counts],
            color=COLORS["reference"],
            linestyle="--",
            label="predicted",
        )
        right.axhline(100, color=COLORS["reference"], linestyle="--", linewidth=1.2)
        for axes in (left, right):
            axes.axvline(ridge_tokens, color=COLORS["accent"], linestyle=":", linewidth=1.5)
            axes.set_xscale("log", base=2)
            axes.set_xticks(counts, [str(n) for n in counts])
            axes.set_xlabel("tokens in the step")
        left.set_yscale("log")
        left.set_ylabel("tokens per second")
        left.set_title("Measured against the roofline")
        left.legend(loc="lower right", fontsize=9)
        right.set_ylim(0, max(120, right.get_ylim()[1]))
        right.set_ylabel("predicted / measured time (%)")
        right.set_title("Share of the bound reached")
        right.annotate(
            "ridge", (ridge_tokens, 2), xytext=(4, 0), textcoords="offset points", color=COLORS["accent"]
        )
    return figure


def batch_gain(decode: Mapping[int, float], prefill: Mapping[int, float], length: int) -> Figure:
    """Tokens/s over batch 1 against batch: decode steps, and prefills of `length` tokens a prompt.

    Both map a batch size to the seconds of its step, and hold batch 1.
    """
    from matplotlib import pyplot

    with styled():
        figure, axes = pyplot.subplots()
        top = max(decode)
        axes.plot([1, top], [1, top], color=COLORS["reference"], linestyle="--", label="a free lunch")
        axes.plot(*_gains(decode), "o-", color=COLORS["decode"], label="decode")
        axes.plot(*_gains(prefill), "s-", color=COLORS["prefill"], label=f"prefill of {length} tokens each")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xticks(sorted(decode), [str(n) for n in sorted(decode)])
        axes.set_yticks(sorted(decode), [f"{n}x" for n in sorted(decode)])
        axes.set_xlabel("batch")
        axes.set_ylabel("tokens/s, over batch 1")
        axes.set_title("What a batch gains")
        axes.legend(loc="upper left")
    return figure


def request_timeline(groups: Mapping[str, Sequence[Request]]) -> Figure:
    """One panel per group, on one time axis: each request's wait, its prefill, then a tick per token."""
    from matplotlib import pyplot

    end = max(request.stamps[-1] for requests in groups.values() for request in requests)
    with styled():
        figure, panels = pyplot.subplots(
            len(groups), 1, sharex=True, squeeze=False, figsize=(8.0, 1.0 + 1.5 * len(groups))
        )
        for axes, (title, requests) in zip(panels[:, 0], groups.items(), strict=True):
            _draw_requests(axes, requests)
            axes.set_title(title)
            axes.set_xlim(0, end * 1.02)
        panels[-1, 0].set_xlabel("seconds since the requests were sent")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles[1:] + handles[:1], labels[1:] + labels[:1], loc="outside lower center", ncols=3)
    return figure


def decode_chart(
    machine: Roofline,
    config: ModelConfig,
    contexts: Sequence[int],
    steps_per_second: Callable[[int, int], float],
    batches: Sequence[int],
) -> Figure:
    """What a batch buys and costs: tokens/s in all (left) and for each user (right), a line per context.

    steps_per_second: of (batch, context), the learner's own model of a step; NaN where there is none to draw.
    """
    from matplotlib import pyplot

    with styled():
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(9.5, 3.8))
        colors = [COLORS[name] for name in ("prefill", "decode", "shared", "waiting")]
        for context, line, color in zip(contexts, LINES, colors, strict=False):
            rates = [steps_per_second(batch, context) for batch in batches]
            label = f"{context:,} tokens of context"
            totals = [batch * rate for batch, rate in zip(batches, rates, strict=True)]
            left.plot(batches, totals, linestyle=line, color=color, label=label)
            right.plot(batches, rates, linestyle=line, color=color, label=label)
        for axes in (left, right):
            axes.set_xscale("log", base=2)
            axes.set_xticks(batches, [str(n) for n in batches])
            axes.set_xlabel("sequences in the batch")
            axes.set_ylim(bottom=0)
        left.yaxis.set_major_formatter("{x:,.0f}")
        left.set_ylabel("tokens per second, all users")
        left.set_title("What the batch earns")
        left.legend(loc="upper left", fontsize=9)
        right.set_ylabel("tokens per second, one user")
        right.set_title("What each user pays")
        figure.suptitle(f"{config.name} on {machine.name}: ceilings", fontweight="bold", x=0.01, ha="left")
    return figure


def _gains(seconds: Mapping[int, float]) -> tuple[list[int], list[float]]:
    batches = sorted(seconds)
    return batches, [batch * seconds[1] / seconds[batch] for batch in batches]


def _draw_requests(axes: Axes, requests: Sequence[Request]) -> None:
    for row, request in enumerate(requests):
        first, label = request.stamps[0], row == 0
        wait, work = request.began - request.sent, first - request.began
        axes.barh(
            row,
            wait,
            left=request.sent,
            color=COLORS["waiting"],
            height=0.55,
            label="waits" if label else None,
        )
        axes.barh(
            row,
            work,
            left=request.began,
            color=COLORS["prefill"],
            height=0.55,
            label="prefill" if label else None,
        )
        axes.plot(
            request.stamps,
            [row] * len(request.stamps),
            "|",
            color=COLORS["accent"],
            markersize=13,
            label="a token" if label else None,
        )
    axes.set_yticks(range(len(requests)), [f"user {row + 1}" for row in range(len(requests))])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
