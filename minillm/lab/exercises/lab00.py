"""The warm-up exercise of lab 00: how fast can one user be answered, at most?"""

from __future__ import annotations

from minillm.lab.exercise import Exercise, Misconception, call


def tokens_per_second(weights: float, bytes_per_weight: float, bandwidth: float) -> float:
    """Steps per second if each step reads every weight once and does nothing else."""
    return bandwidth / (weights * bytes_per_weight)


EXERCISES = [
    Exercise(
        "00.tokens_per_second",
        reference=tokens_per_second,
        cases=[
            call(8.03e9, 2, 3.35e12, name="an 8B model, 16 bits, H100 (8.03e9, 2, 3.35e12)"),
            call(7e9, 1, 2.039e12, name="a 7B model, 8 bits, A100 (7e9, 1, 2.039e12)"),
            call(69e9, 0.5, 0.8e12, name="a 70B model, 4 bits, M2 Ultra (69e9, 0.5, 0.8e12)"),
            call(134_515_008, 4, 20e9, name="smollm2-135m, 32 bits, 20 GB/s (134515008, 4, 20e9)"),
        ],
        misconceptions=[
            Misconception(
                "weights, not bytes",
                lambda weights, bytes_per_weight, bandwidth: bandwidth / weights,
                "This divides by the number of weights. Memory moves bytes, and a weight is some bytes wide.",
            ),
            Misconception(
                "seconds per token",
                lambda weights, bytes_per_weight, bandwidth: weights * bytes_per_weight / bandwidth,
                "This is the time of one token. The question asks how many of them fit in a second.",
            ),
            Misconception(
                "two reads per weight",
                lambda weights, bytes_per_weight, bandwidth: bandwidth / (2 * weights * bytes_per_weight),
                "A weight takes part in two operations, but it is read once.",
            ),
            Misconception(
                "bits for bytes",
                lambda weights, bytes_per_weight, bandwidth: bandwidth / (weights * bytes_per_weight / 8),
                "This takes the width for bits and divides by 8. It is given in bytes already.",
            ),
            Misconception(
                "wider is faster",
                lambda weights, bytes_per_weight, bandwidth: bandwidth * bytes_per_weight / weights,
                "Here wider weights make the model faster. They are more to read, so they make it slower.",
            ),
            Misconception(
                "whole tokens",
                lambda weights, bytes_per_weight, bandwidth: bandwidth // (weights * bytes_per_weight),
                "A rate need not be whole: 208.6 tokens a second is fine. Divide with /.",
            ),
        ],
        hints=[
            "To make one token, how many bytes have to come out of memory?",
            "All weights, once: their number times the bytes of each.",
            "bandwidth is bytes per second. Bytes per second, divided by bytes per token, is ...",
        ],
    )
]
