"""Lab 02: right and wrong answers to its exercises, written by hand; its stopwatch, figures and claims."""

import itertools
import statistics

import matplotlib
import matplotlib.pyplot
import numpy as np
import pytest
import torch

from minillm.decoding import timing
from minillm.hardware import gpu, model_config
from minillm.lab import check
from minillm.lab.claims import lab02 as claims
from minillm.lab.claims import load_claims
from minillm.lab.exercises.lab02 import step_time
from minillm.lab.exercises.lab02_step import step_work
from minillm.models.config import ModelConfig
from minillm.models.sizes import head_weights, layer_weights
from minillm.models.transformer import Transformer
from minillm.viz import phases

matplotlib.use("agg")

TINY = ModelConfig("toy", vocab_size=50, width=16, layers=2, heads=4, kv_heads=2, head_width=4, mlp_width=24)


def diagnosis(exercise: str, wrong: object) -> tuple[str, str | None]:
    result = check(f"02.{exercise}", wrong)
    return result.state, result.misconception


# ---- linear_work


def test_linear_work_other_right_answers() -> None:
    def by_output(tokens, inputs, outputs, bytes_per_value):
        one_output = inputs + inputs  # products and sums
        read = inputs * outputs * bytes_per_value + tokens * inputs * bytes_per_value
        return tokens * outputs * one_output, read + tokens * outputs * bytes_per_value

    assert check("02.linear_work", by_output).passed
    assert check("02.linear_work", lambda n, i, o, b: [2.0 * n * i * o, b * (i * (n + o) + n * o)]).passed


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda n, i, o, b: (n * i * o, b * (i * o + n * i + n * o)), "one operation per weight"),
        (lambda n, i, o, b: (2 * n * i * o, b * n * (i * o + i + o)), "weights read for every token"),
        (lambda n, i, o, b: (2 * n * i * o, b * i * o), "weights only"),
        (lambda n, i, o, b: (2 * n * i * o, b * i * (o + n)), "nothing written"),
        (lambda n, i, o, b: (2 * n * i * o, i * o + n * i + n * o), "values, not bytes"),
        (lambda n, i, o, b: (2 * i * o, b * (i * o + n * i + n * o)), None),  # FLOPs of one row
        (lambda n, i, o, b: (2 * n * i * o, b * n * (i + o)), None),  # no weights at all
        (lambda n, i, o, b: (b * (i * o + n * (i + o)), 2 * n * i * o), None),  # swapped
    ],
)
def test_linear_work_wrong_answers(wrong: object, named: str | None) -> None:
    assert diagnosis("linear_work", wrong) == ("wrong value", named)


def test_linear_work_ratio_alone_is_the_wrong_type() -> None:
    state, _ = diagnosis("linear_work", lambda n, i, o, b: 2 * n * i * o / (b * (i * o + n * (i + o))))
    assert state == "wrong shape or type"


# ---- step_work


def wrong_step(case: str):
    """step_work with one slip, written token by token."""

    def answer(config, batch, new, cached, bytes_per_value):
        heads, width = config.heads * config.head_width, bytes_per_value
        flops = 0
        for position in range(new):
            seen = cached + position + 1
            if case == "looks ahead":
                seen = cached + new
            if case == "forgets itself":
                seen = cached + position
            flops += 2 * layer_weights(config) + 4 * config.layers * heads * seen
        head_rows = new if case == "logits for every token" else 1
        flops = batch * (flops + 2 * head_weights(config) * head_rows)
        if case == "one operation per weight":
            flops = flops / 2
        reads = {"weights read for every token": batch * new, "weights read for every sequence": batch}
        moved = width * (layer_weights(config) + head_weights(config)) * reads.get(case, 1)
        kv = config.kv_bytes_per_token(width) * (cached + new)
        if case == "keys and values of the cached tokens only":
            kv = config.kv_bytes_per_token(width) * cached
        if case == "query heads for KV heads":
            kv = kv * config.heads // config.kv_heads
        if case != "no keys and values":
            moved += kv if case == "keys and values of one sequence" else batch * kv
        return flops, moved

    return answer


def test_step_work_other_right_answer() -> None:
    assert check("02.step_work", wrong_step("none")).passed


@pytest.mark.parametrize(
    "named",
    [
        "looks ahead",
        "logits for every token",
        "one operation per weight",
        "weights read for every token",
        "weights read for every sequence",
        "no keys and values",
        "keys and values of one sequence",
    ],
)
def test_step_work_wrong_answers(named: str) -> None:
    assert diagnosis("step_work", wrong_step(named)) == ("wrong value", named)


@pytest.mark.parametrize(
    "slip", ["forgets itself", "keys and values of the cached tokens only", "query heads for KV heads"]
)
def test_step_work_wrong_without_a_name(slip: str) -> None:
    assert diagnosis("step_work", wrong_step(slip)) == ("wrong value", None)


def test_step_work_counts_what_torch_counts() -> None:
    """The FLOPs of a real step, as torch's own counter finds them in the products it dispatches."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    model = Transformer(TINY).requires_grad_(False)
    counter = FlopCounterMode(display=False)
    with counter, sdpa_kernel(SDPBackend.MATH):
        hidden = model.hidden(torch.zeros(3, 7, dtype=torch.long))
        model.logits(hidden[:, -1])
    counted = counter.get_total_flops()
    flops, _ = step_work(TINY, 3, 7, 0, 4)
    # Torch computes the masked half of the scores too: 7 · 7 pairs where 7 · 8 / 2 are needed.
    masked = 4 * TINY.layers * TINY.heads * TINY.head_width * 3 * (7 * 7 - 7 * 8 // 2)
    assert counted == flops + masked


# ---- step_time


def test_step_time_other_right_answer() -> None:
    def by_ridge(flops, moved, peak, bandwidth, overhead):
        if flops / moved > peak / bandwidth:
            return overhead + flops / peak, "compute"
        return overhead + moved / bandwidth, "memory"

    assert check("02.step_time", by_ridge).passed


def named_bound(compute: float, memory: float) -> str:
    return "compute" if compute > memory else "memory"


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda f, m, p, b, c: (c + f / p + m / b, named_bound(f / p, m / b)), "adds compute and memory"),
        (lambda f, m, p, b, c: (c + min(f / p, m / b), named_bound(f / p, m / b)), "the faster one"),
        (lambda f, m, p, b, c: (max(c, f / p, m / b), named_bound(f / p, m / b)), "overhead hidden too"),
        (lambda f, m, p, b, c: (max(f / p, m / b), named_bound(f / p, m / b)), "no overhead"),
        (lambda f, m, p, b, c: (c + max(f / p, m / b), named_bound(m / b, f / p)), "names the idle one"),
        (lambda f, m, p, b, c: (c + max(f / p, m / b), named_bound(f, m)), "compares with 1"),
        (lambda f, m, p, b, c: (c + max(f / p, m / b), "memory"), None),
        (lambda f, m, p, b, c: (c + max(f / b, m / p), named_bound(f / p, m / b)), None),  # rates swapped
        (lambda f, m, p, b, c: (c * max(f / p, m / b), named_bound(f / p, m / b)), None),
    ],
)
def test_step_time_wrong_answers(wrong: object, named: str | None) -> None:
    assert diagnosis("step_time", wrong) == ("wrong value", named)


# ---- latency_report


def report(slip: str):
    """latency_report with the standard library only, and one slip."""

    def answer(requests):
        waits = [stamps[0] - (0 if slip == "clock not set to zero" else sent) for sent, stamps in requests]
        gaps, tpots = [], []
        for sent, stamps in requests:
            times = [sent, *stamps] if slip == "the first wait is an interval" else stamps
            gaps += [late - early for early, late in itertools.pairwise(times)]
            start = sent if slip == "TPOT from the send" else stamps[0]
            count = (
                len(stamps) if slip in ("one interval too many", "TPOT from the send") else len(stamps) - 1
            )
            tpots.append((stamps[-1] - start) / count)
        middle = statistics.mean if slip == "mean for median" else statistics.median
        first, last = min(sent for sent, _ in requests), max(stamps[-1] for _, stamps in requests)
        if slip == "throughput without the wait":
            first = min(stamps[0] for _, stamps in requests)
        if slip == "begins with the list":
            first = requests[0][0]
        if slip == "ends with the list":
            last = requests[-1][1][-1]
        return {
            "ttft_p50": middle(waits),
            "itl_p50": middle(gaps),
            "itl_p99": max(gaps) if slip == "largest for p99" else float(np.quantile(gaps, 0.99)),
            "tpot": statistics.mean(tpots),
            "throughput": sum(len(stamps) for _, stamps in requests) / (last - first),
        }

    return answer


def test_latency_report_other_right_answer() -> None:
    assert check("02.latency_report", report("none")).passed


@pytest.mark.parametrize(
    "named",
    [
        "clock not set to zero",
        "the first wait is an interval",
        "TPOT from the send",
        "one interval too many",
        "mean for median",
        "throughput without the wait",
    ],
)
def test_latency_report_wrong_answers(named: str) -> None:
    assert diagnosis("latency_report", report(named)) == ("wrong value", named)


def test_latency_report_wrong_without_a_name() -> None:
    for slip in ("largest for p99", "begins with the list", "ends with the list"):
        assert diagnosis("latency_report", report(slip)) == ("wrong value", None), slip
    state, _ = diagnosis("latency_report", lambda requests: list(report("none")(requests).values()))
    assert state == "wrong shape or type"


# ---- decode_ceiling


def test_decode_ceiling_other_right_answer() -> None:
    def by_time(weights, kv, context, batch, bandwidth):
        seconds = weights / bandwidth + sum(context * kv / bandwidth for _ in range(batch))
        return batch / seconds

    assert check("02.decode_ceiling", by_time).passed


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda w, kv, t, n, s: n * s / w, "no keys and values"),
        (lambda w, kv, t, n, s: n * s / (w + t * kv), "keys and values of one sequence"),
        (lambda w, kv, t, n, s: s / (w + n * t * kv), "one user's speed"),
        (lambda w, kv, t, n, s: s / (w + t * kv), "weights read for every sequence"),
        (lambda w, kv, t, n, s: n * s / (w + n * kv), "a token's keys and values"),
        (lambda w, kv, t, n, s: (w + n * t * kv) / (n * s), None),  # seconds per token
        (lambda w, kv, t, n, s: n * s / w + s / (t * kv), None),
        (lambda w, kv, t, n, s: n * s / (w + n * t * kv / 2), None),  # keys without values
    ],
)
def test_decode_ceiling_wrong_answers(wrong: object, named: str | None) -> None:
    assert diagnosis("decode_ceiling", wrong) == ("wrong value", named)


# ---- what the lab stands on


def test_sizes_are_all_the_weights_but_norms() -> None:
    norms = (2 * TINY.layers + 1) * TINY.width
    assert layer_weights(TINY) + head_weights(TINY) + norms == TINY.parameters()


def test_ridges_of_the_fact_sheet() -> None:
    ridges = {name: round(gpu(name).ridge("bfloat16")) for name in ("a100-80gb", "h200", "h100-sxm")}
    assert ridges == {"a100-80gb": 153, "h200": 206, "h100-sxm": 295}


def test_attention_keeps_its_intensity_whatever_batch_and_context() -> None:
    llama = model_config("llama-3-8b")
    for batch, context in ((1, 100), (64, 5000)):
        full, bare = step_work(llama, batch, 1, context, 2), step_work(llama, batch, 1, 0, 2)
        assert (full[0] - bare[0]) / (full[1] - bare[1]) == pytest.approx(llama.heads / llama.kv_heads)


def test_a_step_below_the_ridge_costs_the_same_with_more_tokens() -> None:
    llama, h100 = model_config("llama-3-8b"), gpu("h100-sxm")

    def seconds(tokens: int) -> tuple[float, str]:
        return step_time(*step_work(llama, 1, tokens, 0, 2), h100.peak(), h100.read_bandwidth, 0)

    assert seconds(1)[1] == seconds(256)[1] == "memory" and seconds(512)[1] == "compute"
    assert seconds(256)[0] == pytest.approx(seconds(1)[0], rel=0.01)


class Stopwatch:
    """A model that only notes what it is asked to compute."""

    config, dtype, device = TINY, torch.float32, torch.device("cpu")

    def __init__(self) -> None:
        self.steps: list[tuple[int, int, int]] = []

    def hidden(self, tokens, cache, lengths=None):
        self.steps.append((*tokens.shape, int(cache.lengths[0])))
        cache.reserve(tokens.shape[1], lengths)
        cache.commit()
        return torch.zeros(*tokens.shape, 1)

    def logits(self, hidden):
        return hidden


def test_every_timed_step_starts_from_the_same_context() -> None:
    model = Stopwatch()
    assert timing.prefill_seconds(model, 2, 5, repeats=3) > 0
    assert model.steps == [(2, 5, 0)] * 4  # one warms up
    model.steps.clear()
    assert timing.decode_seconds(model, 3, 9, repeats=2) > 0
    assert model.steps == [(3, 9, 0), *[(3, 1, 9)] * 3]


def test_no_run_to_time_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        timing.best_seconds(lambda: torch.zeros(1), 0)


def test_random_model_is_the_same_each_time_and_leaves_the_seed_alone() -> None:
    state = torch.get_rng_state()
    one, two = timing.random_model(TINY), timing.random_model(TINY)
    assert torch.equal(one.embedding.weight, two.embedding.weight)
    assert torch.equal(torch.get_rng_state(), state)


def test_claims_say_what_the_figures_give() -> None:
    said = {claim.id: claim.corrected for claim in load_claims("02")}
    assert len(said) == 10
    assert f"near {claims.decode_intensity_limit():.0f} FLOP" in said["02.decode_memory_bound"]
    assert f"{round(claims.aggregate_batch_64(), -2):,.0f} in all" in said["02.tokens_per_second"]
    assert f"about {claims._ceiling(1, 1024, 2):.0f} tokens/s" in said["02.tokens_per_second"]
    assert f"reaches {claims.fp8_gain_batch_32():.0f} times" in said["02.aggregate_gain"]
    gain_128 = claims._ceiling(128, 1024, 1) / claims._ceiling(1, 1024, 1)
    assert f"and {gain_128:.0f} at 128" in said["02.aggregate_gain"]


def test_figures_draw_what_they_are_given() -> None:
    curves = {"a": [1, 2, 4, 8, 16], "b": [1, 2, 3, 3.5, 3.7]}
    chart = phases.intensity_chart([1, 2, 4, 8, 16], curves, {"card": 3.0, "other": 5.0})
    assert [list(line.get_ydata()) for line in chart.axes[0].lines[:2]] == list(curves.values())

    speeds = phases.Speeds({1: 0.1, 2: 0.1}, {1: 0.05, 2: 0.1})
    left, right = phases.tokens_per_second(speeds, speeds, 3.0).axes
    assert list(left.lines[0].get_ydata()) == [10, 20]
    assert list(right.lines[0].get_ydata()) == [50, 100]

    gain = phases.batch_gain({1: 1.0, 4: 2.0}, {1: 1.0, 2: 2.0}, 64).axes[0]
    assert list(gain.lines[1].get_ydata()) == [1, 2] and list(gain.lines[2].get_ydata()) == [1, 1]

    request = phases.Request(0.0, 0.25, [1.0, 1.5])
    panels = phases.request_timeline({"one": [request], "two": [request]}).axes
    assert [bar.get_width() for bar in panels[0].patches] == [0.25, 0.75]

    totals, users = phases.decode_chart(gpu("l4"), TINY, [8], lambda batch, context: 10 / batch, [1, 2]).axes
    assert list(totals.lines[0].get_ydata()) == [10, 10] and list(users.lines[0].get_ydata()) == [10, 5]
    matplotlib.pyplot.close("all")
