"""Pictures of the KV cache: what changes, what is computed, who shares, what it costs, what it weighs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from minillm.viz.style import COLORS, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_GIB = 2**30


def changed_keys(panels: Mapping[str, Any], noise: float = 1e-4) -> Figure:
    """Where stored keys differ after an edit: maps [L, T] of largest differences, an even number, by title.

    Differences up to `noise` count as rounding and stay blank.
    """
    from matplotlib import pyplot as plt
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    shades = LinearSegmentedColormap.from_list("change", [COLORS["decode"], COLORS["accent"], "#5A1E00"])
    shades = shades.with_extremes(bad=COLORS["free"])
    with styled():
        columns = (len(panels) + 1) // 2
        figure, grid = plt.subplots(2, columns, figsize=(8.4, 5.2), sharey=True, squeeze=False)
        for axis, (title, difference) in zip(grid.flat, panels.items(), strict=True):
            shown = np.ma.masked_less_equal(np.asarray(difference, dtype=float), noise)
            image = axis.imshow(shown, cmap=shades, norm=LogNorm(1e-3, 10), aspect="auto", origin="lower")
            axis.set_title(title, fontsize=10.5)
            if shown.mask.all():
                middle = {"ha": "center", "va": "center", "transform": axis.transAxes}
                axis.text(0.5, 0.5, "nothing changes", **middle)
            axis.set_yticks(range(shown.shape[0]))
            axis.grid(False)
        for axis in grid[-1]:
            axis.set_xlabel("position of the token")
        for axis in grid[:, 0]:
            axis.set_ylabel("layer")
        figure.colorbar(image, ax=grid, label="largest change of a key")
    return figure


def computed_tokens(without: Sequence[int], with_cache: Sequence[int]) -> Figure:
    """Which tokens each pass puts through the model, from the number of tokens that each pass computed."""
    from matplotlib import pyplot as plt
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    colors = [COLORS["free"], COLORS["shared"], COLORS["prefill"], COLORS["decode"]]
    with styled():
        figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.8), sharey=True)
        # Without a cache a pass ends at the last token it computes; with one, after all computed so far.
        sides = (("without", without, without), ("with", with_cache, list(accumulate(with_cache))))
        for axis, (name, counts, ends) in zip(axes, sides, strict=True):
            kinds = _passes(counts, ends, max(without))
            axis.imshow(kinds, cmap=ListedColormap(colors), vmin=0, vmax=3, aspect="auto")
            axis.set_title(f"{name} a cache: {sum(counts)} tokens computed")
            axis.set_xlabel("position of the token")
            axis.locator_params(integer=True)
            axis.grid(False)
        axes[0].set_ylabel("forward pass")
        names = ("not there yet", "read from the cache", "computed: prompt", "computed: later pass")
        handles = [Patch(color=color, label=name) for color, name in zip(colors, names, strict=True)]
        figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=9)
    return figure


def _passes(counts: Sequence[int], ends: Sequence[int], tokens: int) -> np.ndarray:
    """Per pass and token: 0 not there, 1 held, 2 computed by the first pass, 3 by a later one."""
    kinds = np.zeros((len(counts), tokens), dtype=int)
    for number, (count, end) in enumerate(zip(counts, ends, strict=True)):
        kinds[number, : end - count] = 1
        kinds[number, end - count : end] = 3 if number else 2
    return kinds


def head_sharing(heads: int, kv_heads: Mapping[str, int], bytes_per_token: Mapping[str, float]) -> Figure:
    """Which query heads read which KV heads, one panel per variant, titled with its bytes per token."""
    from matplotlib import pyplot as plt

    with styled():
        figure, axes = plt.subplots(1, len(kv_heads), figsize=(3.1 * len(kv_heads), 2.5))
        for axis, (name, shared) in zip(np.atleast_1d(axes), kv_heads.items(), strict=True):
            group = heads // shared
            centers = [group * k + (group - 1) / 2 for k in range(shared)]
            for head in range(heads):
                axis.plot([head, centers[head // group]], [1, 0], color=COLORS["reference"], lw=1)
            axis.scatter(range(heads), [1] * heads, s=130, color=COLORS["prefill"], zorder=3)
            axis.scatter(centers, [0] * shared, s=190, color=COLORS["decode"], marker="s", zorder=3)
            counted = f"{shared} KV head{'s' * (shared > 1)}"
            axis.set_title(
                f"{name}: {counted}\n{bytes_per_token[name] / 1024:,.0f} KiB a token", fontsize=10.5
            )
            axis.set(xlim=(-0.7, heads - 0.3), ylim=(-0.4, 1.4), xticks=[])
            axis.set_yticks([0, 1], ["KV", "query"])
            axis.tick_params(length=0)
            axis.grid(False)
            axis.spines[:].set_visible(False)
    return figure


def step_cost(
    flops: Callable[[int, int, bool], tuple[float, float]], width: int, contexts: Sequence[int], crossing: int
) -> Figure:
    """FLOPs of one layer's step against the context, its two parts, without and with the cache.

    crossing: the context at which the two parts are equal.
    """
    from matplotlib import pyplot as plt

    with styled():
        figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.6), sharex=True, sharey=True)
        for axis, cached in zip(axes, (False, True), strict=True):
            linear, attention = zip(*(flops(width, t, cached) for t in contexts), strict=True)
            axis.loglog(contexts, linear, color=COLORS["prefill"], label="linear layers")
            axis.loglog(contexts, attention, color=COLORS["decode"], ls="--", label="attention")
            axis.set_title("with the cache" if cached else "without a cache")
            axis.set_xlabel("context (tokens)")
            axis.axvline(crossing, color=COLORS["accent"], lw=1, ls=":")
            at = (crossing, flops(width, crossing, cached)[0])
            label = f"equal at {crossing:,}"
            axis.annotate(label, at, (-6, 8), textcoords="offset points", ha="right")
        axes[0].set_ylabel("FLOPs of the step, one layer")
        axes[1].legend(loc="upper left")
    return figure


def step_times(
    contexts: Sequence[int], without: Sequence[float], with_cache: Sequence[float], model: str
) -> Figure:
    """Measured milliseconds of a step against the context, and the ratio beside what FLOPs promise."""
    from matplotlib import pyplot as plt

    ratios = [slow / fast for slow, fast in zip(without, with_cache, strict=True)]
    with styled():
        figure, (times, ratio) = plt.subplots(1, 2, figsize=(8.4, 3.6))
        times.plot(contexts, without, "o-", color=COLORS["prefill"], label="without a cache")
        times.plot(contexts, with_cache, "s--", color=COLORS["decode"], label="with the cache")
        times.set(xlabel="context (tokens)", ylabel="one step (ms)", ylim=(0, None))
        times.set_title(f"{model}: time of a step")
        times.legend()
        ratio.set_xscale("log", base=2)
        ratio.set_yscale("log", base=2)
        ratio.plot(contexts, contexts, color=COLORS["reference"], ls=":", label="FLOPs saved: the context")
        ratio.plot(contexts, ratios, "o-", color=COLORS["accent"], label="time saved: measured")
        ratio.set(xlabel="context (tokens)", ylabel="times less")
        ratio.set_title("Saved by the cache")
        ratio.xaxis.set_major_formatter("{x:g}")
        ratio.yaxis.set_major_formatter("{x:g}")
        ratio.legend(loc="upper left")
    return figure


def cache_size(models: Mapping[str, tuple[float, float]], contexts: Sequence[int]) -> Figure:
    """GiB of cache against tokens held (context x batch); a dot where it weighs as much as the weights.

    models: name -> (KV bytes per token, weight bytes).
    """
    from matplotlib import pyplot as plt

    styles = ("-", "--", "-.", ":", (0, (1, 1)), (0, (5, 1)))
    with styled():
        figure, axis = plt.subplots(figsize=(7.4, 4.2))
        for (name, (kv, weights)), style in zip(models.items(), styles, strict=False):
            (line,) = axis.loglog(contexts, [kv * t / _GIB for t in contexts], ls=style, label=name)
            equal = weights / kv
            if equal <= contexts[-1]:
                axis.plot(equal, weights / _GIB, "o", color=line.get_color(), ms=8)
        axis.plot([], [], "o", color=COLORS["reference"], label="as heavy as the weights")
        axis.set(xlabel="tokens held: context x requests", ylabel="cache (GiB)")
        axis.legend(fontsize=9)
    return figure


def memory_bar(name: str, weights: float, cache: float, memory: float, device: str) -> Figure:
    """One bar: weights, then cache, against a device's memory; all in bytes."""
    from matplotlib import pyplot as plt

    with styled():
        figure, axis = plt.subplots(figsize=(7.4, 1.7))
        axis.barh([0], [weights / _GIB], color=COLORS["prefill"], label=f"weights {weights / _GIB:.1f} GiB")
        axis.barh(
            [0],
            [cache / _GIB],
            left=[weights / _GIB],
            color=COLORS["decode"],
            label=f"cache {cache / _GIB:.1f} GiB",
        )
        axis.axvline(
            memory / _GIB, color=COLORS["accent"], ls="--", label=f"{device} {memory / _GIB:.0f} GiB"
        )
        verdict = "fits" if weights + cache <= memory else "does not fit"
        axis.set(yticks=[], xlabel="GiB", title=f"{name}: {verdict}")
        axis.set_xlim(0, 1.1 * max(memory, weights + cache) / _GIB)
        figure.legend(loc="outside lower center", ncols=3, fontsize=9)
    return figure
