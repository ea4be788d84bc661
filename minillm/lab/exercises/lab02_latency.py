"""Lab 02's exercise on what users see: time to first token, intervals between tokens, throughput."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from minillm.lab.exercise import Exercise, Misconception, call

Timed = tuple[float, Sequence[float]]  # when a request was sent, and when each of its tokens came


def latency_report(requests: Sequence[Timed]) -> dict[str, float]:
    """What the users of these requests saw."""
    gaps = [gap for _, stamps in requests for gap in np.diff(stamps)]
    tokens = sum(len(stamps) for _, stamps in requests)
    span = max(stamps[-1] for _, stamps in requests) - min(sent for sent, _ in requests)
    return {
        "ttft_p50": float(np.percentile([stamps[0] - sent for sent, stamps in requests], 50)),
        "itl_p50": float(np.percentile(gaps, 50)),
        "itl_p99": float(np.percentile(gaps, 99)),
        "tpot": float(np.mean([(s[-1] - s[0]) / (len(s) - 1) for _, s in requests])),
        "throughput": tokens / span,
    }


def _report(**changed: Callable[[Sequence[Timed]], float]) -> Callable[..., dict[str, float]]:
    """A latency_report with some entries made in another way."""

    def wrong(requests):
        return latency_report(requests) | {name: float(make(requests)) for name, make in changed.items()}

    return wrong


def _gaps_from_sent(requests: Sequence[Timed]) -> list[float]:
    return [gap for sent, stamps in requests for gap in np.diff([sent, *stamps])]


def _gaps_of_all(requests: Sequence[Timed]) -> np.ndarray:
    return np.diff(sorted(stamp for _, stamps in requests for stamp in stamps))


def _each(requests: Sequence[Timed], quantile: float) -> float:
    return np.mean([np.percentile(np.diff(stamps), quantile) for _, stamps in requests])


def _mean_gap(requests: Sequence[Timed]) -> float:
    return np.mean([gap for _, stamps in requests for gap in np.diff(stamps)])


LATENCY = Exercise(
    "02.latency_report",
    reference=latency_report,
    cases=[
        call([(0.0, [0.5, 0.6, 0.7, 1.1])], name="one request, a stutter at its end"),
        call([(2.0, [2.4, 2.5]), (2.1, [2.9, 3.0, 3.2, 3.3])], name="two requests, sent at 2.0 s and 2.1 s"),
        call(
            [(11.0, [11.1, 11.5, 11.6, 11.8, 11.9]), (10.0, [10.2, 10.25, 10.3]), (10.0, [10.9, 10.92])],
            name="three requests of different lengths, the last one sent comes first in the list",
        ),
    ],
    misconceptions=[
        Misconception(
            "the first wait is an interval",
            _report(
                itl_p50=lambda r: np.percentile(_gaps_from_sent(r), 50),
                itl_p99=lambda r: np.percentile(_gaps_from_sent(r), 99),
            ),
            "The time to first token is among the intervals here. ITL begins with the second token: "
            "otherwise one prefill spoils the tail of every decode.",
        ),
        Misconception(
            "intervals between users",
            _report(
                itl_p50=lambda r: np.percentile(_gaps_of_all(r), 50),
                itl_p99=lambda r: np.percentile(_gaps_of_all(r), 99),
            ),
            "This takes intervals between tokens of different requests. No user sees those: take "
            "differences within a request, then pool them.",
        ),
        Misconception(
            "percentiles averaged",
            _report(itl_p50=lambda r: _each(r, 50), itl_p99=lambda r: _each(r, 99)),
            "A percentile per request, then their mean: percentiles cannot be averaged. Pool the "
            "intervals first.",
        ),
        Misconception(
            "mean for median",
            _report(ttft_p50=lambda r: np.mean([s[0] - t for t, s in r]), itl_p50=_mean_gap),
            "p50 is the median. A mean moves with every outlier, which is why latencies are not reported so.",
        ),
        Misconception(
            "one interval too many",
            _report(tpot=lambda r: np.mean([(s[-1] - s[0]) / len(s) for _, s in r])),
            "n tokens have n - 1 intervals between them: TPOT divides by the intervals.",
        ),
        Misconception(
            "TPOT from the send",
            _report(tpot=lambda r: np.mean([(s[-1] - t) / len(s) for t, s in r])),
            "This spreads the time to first token over the others. TPOT starts at the first token, so "
            "that it says how fast text flows once it flows.",
        ),
        Misconception(
            "clock not set to zero",
            _report(ttft_p50=lambda r: np.percentile([s[0] for _, s in r], 50)),
            "TTFT counts from when the request was sent: queueing and tokenizing are in it.",
        ),
        Misconception(
            "throughput of one user",
            _report(throughput=lambda r: np.mean([len(s) / (s[-1] - t) for t, s in r])),
            "This is how fast one request gets its tokens, on average. Throughput is all tokens over the "
            "whole time.",
        ),
        Misconception(
            "throughput without the wait",
            _report(
                throughput=lambda r: (
                    sum(len(s) for _, s in r) / (max(s[-1] for _, s in r) - min(s[0] for _, s in r))
                )
            ),
            "The clock starts when the first request is sent, not when the first token comes: prefill is "
            "work too.",
        ),
    ],
    hints=[
        "np.diff(stamps) gives the intervals within one request; put those of all requests in one list.",
        "TTFT: stamps[0] - sent. TPOT of one request: (last - first) / (number of tokens - 1).",
        "Throughput: all tokens, over the time from the first request sent to the last token of all.",
    ],
)
