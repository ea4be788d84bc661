"""Exercises of lab 02: what a step works and moves, how long it takes, and what users see of it."""

from __future__ import annotations

from collections.abc import Callable

from minillm.lab.exercise import Exercise, Misconception, call
from minillm.lab.exercises.lab02_latency import LATENCY
from minillm.lab.exercises.lab02_step import STEP


def linear_work(tokens: int, inputs: int, outputs: int, bytes_per_value: float) -> tuple[float, float]:
    """FLOPs, and bytes moved, of a linear layer over `tokens` rows."""
    flops = 2 * tokens * inputs * outputs
    values = inputs * outputs + tokens * inputs + tokens * outputs
    return flops, values * bytes_per_value


def step_time(
    flops: float, moved: float, peak: float, bandwidth: float, overhead: float
) -> tuple[float, str]:
    """Seconds of a step by the roofline, and what binds it."""
    compute, memory = flops / peak, moved / bandwidth
    return overhead + max(compute, memory), "compute" if compute > memory else "memory"


def decode_ceiling(
    weight_bytes: float, kv_bytes_per_token: float, context: int, batch: int, bandwidth: float
) -> float:
    """Most tokens per second that memory allows, over the whole batch."""
    return batch * bandwidth / (weight_bytes + batch * context * kv_bytes_per_token)


def _time(
    combine: Callable[[float, float, float], float],
    bound: Callable[[float, float, float, float], bool] | None = None,
) -> Callable[..., tuple[float, str]]:
    """A step_time that combines overhead, compute and memory in another way."""

    def wrong(flops, moved, peak, bandwidth, overhead):
        compute, memory = flops / peak, moved / bandwidth
        named = bound(flops, moved, peak, bandwidth) if bound else compute > memory
        return combine(overhead, compute, memory), "compute" if named else "memory"

    return wrong


LINEAR = Exercise(
    "02.linear_work",
    reference=linear_work,
    cases=[call(1, 4096, 14336, 2), call(256, 4096, 14336, 2), call(7, 3, 5, 4), call(32, 576, 192, 1)],
    misconceptions=[
        Misconception(
            "one operation per weight",
            lambda n, i, o, b: (n * i * o, (i * o + n * (i + o)) * b),
            "Each weight is multiplied and the product added to a sum: two operations per weight and token.",
        ),
        Misconception(
            "weights read for every token",
            lambda n, i, o, b: (2 * n * i * o, n * (i * o + i + o) * b),
            "Here every token reads the weights again. One product serves all rows: the weights are read "
            "once per step, and that is all the good that batching does.",
        ),
        Misconception(
            "weights only",
            lambda n, i, o, b: (2 * n * i * o, i * o * b),
            "The rows that go in and come out are moved too: little beside the weights at a few tokens, "
            "most of the bytes at many.",
        ),
        Misconception(
            "nothing written",
            lambda n, i, o, b: (2 * n * i * o, (i * o + n * i) * b),
            "This reads weights and inputs and forgets to write the outputs.",
        ),
        Misconception(
            "values, not bytes",
            lambda n, i, o, b: (2 * n * i * o, i * o + n * (i + o)),
            "This counts values. Memory moves bytes: fewer bits per weight is less to move, at equal FLOPs.",
        ),
    ],
    hints=[
        "One output value is a sum over `inputs` products. How many operations is that, and how many "
        "outputs?",
        "FLOPs: 2 · tokens · inputs · outputs.",
        "Three matrices move: the weights, once; the rows that go in; the rows that come out.",
    ],
)

TIME = Exercise(
    "02.step_time",
    reference=step_time,
    cases=[
        call(2e12, 16e9, 989e12, 3.35e12, 1e-4),
        call(2e12, 2e9, 989e12, 3.35e12, 1e-4),
        call(3e9, 1e9, 70e9, 20e9, 2e-3),
        call(1.0, 2.0, 1.0, 1.0, 3.0),
    ],
    misconceptions=[
        Misconception(
            "adds compute and memory",
            _time(lambda c0, compute, memory: c0 + compute + memory),
            "The machine loads the next weights while it multiplies by the last ones: the slower of the "
            "two sets the time, the other hides behind it.",
        ),
        Misconception(
            "the faster one",
            _time(lambda c0, compute, memory: c0 + min(compute, memory)),
            "A step is over when both are: it waits for the slower one.",
        ),
        Misconception(
            "overhead hidden too",
            _time(lambda c0, compute, memory: max(c0, compute, memory)),
            "The fixed cost of a step does not overlap with its work here: it is added on top.",
        ),
        Misconception(
            "no overhead",
            _time(lambda c0, compute, memory: max(compute, memory)),
            "A step has a fixed cost however little it does: launches, the scheduler, Python.",
        ),
        Misconception(
            "names the idle one",
            _time(lambda c0, compute, memory: c0 + max(compute, memory), lambda f, m, p, b: f / p < m / b),
            "The time is right. Bound is what takes longer: a memory-bound step spends its time on bytes.",
        ),
        Misconception(
            "compares with 1",
            _time(lambda c0, compute, memory: c0 + max(compute, memory), lambda f, m, p, b: f > m),
            "FLOPs per byte is to be compared with the machine's own ratio, peak / bandwidth, not with 1.",
        ),
    ],
    hints=[
        "How long would the FLOPs take alone? How long the bytes?",
        "They overlap: the longer one counts. The overhead does not, it is added.",
        'overhead + max(flops / peak, moved / bandwidth), and "compute" where the first is longer.',
    ],
)

CEILING = Exercise(
    "02.decode_ceiling",
    reference=decode_ceiling,
    cases=[
        call(16e9, 131072, 1000, 1, 3.35e12),
        call(16e9, 131072, 1000, 32, 3.35e12),
        call(8e9, 131072, 8000, 128, 3.35e12),
        call(5e8, 46080, 200, 4, 2e10),
    ],
    misconceptions=[
        Misconception(
            "no keys and values",
            lambda w, kv, context, batch, bandwidth: batch * bandwidth / w,
            "Each step also reads the cache of every sequence: with a long context or a large batch that "
            "is most of it.",
        ),
        Misconception(
            "keys and values of one sequence",
            lambda w, kv, context, batch, bandwidth: batch * bandwidth / (w + context * kv),
            "The batch shares the weights, not the cache: every sequence has keys and values of its own "
            "to read.",
        ),
        Misconception(
            "one user's speed",
            lambda w, kv, context, batch, bandwidth: bandwidth / (w + batch * context * kv),
            "These are steps per second, which is what one user sees. A step yields a token for each "
            "sequence.",
        ),
        Misconception(
            "weights read for every sequence",
            lambda w, kv, context, batch, bandwidth: batch * bandwidth / (batch * (w + context * kv)),
            "With the weights read for each sequence, batching would gain nothing. One read serves the "
            "batch.",
        ),
        Misconception(
            "a token's keys and values",
            lambda w, kv, context, batch, bandwidth: batch * bandwidth / (w + batch * kv),
            "A step reads the keys and values of all the context, not of one token.",
        ),
    ],
    hints=[
        "What must be read for one step, in bytes?",
        "weight_bytes once, and context · kv_bytes_per_token for each sequence.",
        "Steps per second = bandwidth / bytes. Each step yields `batch` tokens.",
    ],
)


EXERCISES = [LINEAR, STEP, TIME, LATENCY, CEILING]
