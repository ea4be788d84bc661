"""Exercises of lab 01: bytes per token, one cached attention step, a cache that drives a model, FLOPs."""

from __future__ import annotations

from minillm.lab.exercise import Exercise, Misconception, call
from minillm.lab.exercises.lab01_attention import ATTENTION
from minillm.lab.exercises.lab01_cache import CACHE


def kv_bytes_per_token(layers: int, kv_heads: int, head_width: int, bytes_per_value: float) -> float:
    """Bytes one token leaves in the cache."""
    return 2 * layers * kv_heads * head_width * bytes_per_value


BYTES = Exercise(
    "01.kv_bytes_per_token",
    reference=kv_bytes_per_token,
    cases=[
        call(32, 32, 128, 2, name="Llama-2-7B in bf16: (32, 32, 128, 2)"),
        call(32, 8, 128, 2, name="Llama-3-8B in bf16: (32, 8, 128, 2)"),
        call(80, 8, 128, 1, name="a 70B in FP8: (80, 8, 128, 1)"),
        call(6, 2, 32, 4, name="tiny in float32: (6, 2, 32, 4)"),
    ],
    misconceptions=[
        Misconception(
            "keys only",
            lambda layers, kv_heads, head_width, bytes_per_value: (
                layers * kv_heads * head_width * bytes_per_value
            ),
            "This counts the keys and forgets the values. Attention needs both: the keys to weigh, the "
            "values to mix.",
        ),
        Misconception(
            "one layer only",
            lambda layers, kv_heads, head_width, bytes_per_value: 2 * kv_heads * head_width * bytes_per_value,
            "This is one layer's share. Every layer makes keys and values of its own from its own input.",
        ),
        Misconception(
            "one head only",
            lambda layers, kv_heads, head_width, bytes_per_value: 2 * layers * head_width * bytes_per_value,
            "This counts one KV head per layer (right for MQA only). Each KV head has its own keys and "
            "values.",
        ),
        Misconception(
            "values counted, not bytes",
            lambda layers, kv_heads, head_width, bytes_per_value: 2 * layers * kv_heads * head_width,
            "This is the number of stored values. Memory is that number times the bytes of one value.",
        ),
        Misconception(
            "bits for bytes",
            lambda layers, kv_heads, head_width, bytes_per_value: (
                2 * layers * kv_heads * head_width * bytes_per_value * 8
            ),
            "This is in bits, eight times too much: bytes_per_value is in bytes already.",
        ),
    ],
    hints=[
        "Take one token in one layer. Which two tensors does attention keep for it?",
        "Each of the two has one vector of length head_width per KV head. Query heads do not appear.",
        "Multiply: two tensors, layers, KV heads, width of a head, bytes of a value.",
    ],
)


def step_flops(width: int, context: int, cached: bool) -> tuple[int, int]:
    """FLOPs of one layer for the step that reads `context` tokens: (linear layers, attention)."""
    tokens = 1 if cached else context
    return 24 * width**2 * tokens, 4 * width * context * tokens


FLOPS = Exercise(
    "01.step_flops",
    reference=step_flops,
    cases=[
        call(4096, 1000, True, name="step_flops(4096, 1000, cached=True)"),
        call(4096, 1000, False, name="step_flops(4096, 1000, cached=False)"),
        call(64, 1, True, name="step_flops(64, 1, cached=True): a text of one token"),
        call(64, 7, False, name="step_flops(64, 7, cached=False)"),
    ],
    misconceptions=[
        Misconception(
            "multiplications only",
            lambda width, context, cached: tuple(n // 2 for n in step_flops(width, context, cached)),
            "This is half: a multiply-add counts as two FLOPs.",
        ),
        Misconception(
            "the MLP is missing",
            lambda width, context, cached: (
                step_flops(width, context, cached)[0] // 3,
                step_flops(width, context, cached)[1],
            ),
            "The linear part counts the four attention projections only. The MLP's two matrices, d by 4d, "
            "hold twice "
            "as many weights.",
        ),
        Misconception(
            "scores only",
            lambda width, context, cached: (
                step_flops(width, context, cached)[0],
                step_flops(width, context, cached)[1] // 2,
            ),
            "The attention part counts query times keys and forgets weights times values: the same work "
            "once more.",
        ),
        Misconception(
            "attention stays quadratic with the cache",
            lambda width, context, cached: (
                step_flops(width, context, cached)[0],
                step_flops(width, context, False)[1],
            ),
            "With the cache there is one query, so one row of scores: attention is linear in the context, "
            "not "
            "quadratic.",
        ),
        Misconception(
            "the linear layers run once without a cache",
            lambda width, context, cached: (
                step_flops(width, context, True)[0],
                step_flops(width, context, cached)[1],
            ),
            "Without a cache the linear layers run on every token of the context again, not on the new "
            "one alone.",
        ),
        Misconception(
            "the cache makes attention constant",
            lambda width, context, cached: (
                step_flops(width, context, cached)[0],
                step_flops(width, 1 if cached else context, cached)[1],
            ),
            "The new token still meets every key in the cache: attention grows with the context.",
        ),
    ],
    hints=[
        "A product of a matrix [n, m] with one vector takes 2·n·m FLOPs. How many weights has a layer?",
        "Attention: four d x d matrices. MLP: d x 4d and 4d x d. 12·d² weights, hence 24·d² FLOPs per token.",
        "One query against t keys: 2·t·d over all heads; mixing t values: 2·t·d again.",
        "Without a cache both parts run for every one of the t tokens, with it for one token only.",
    ],
)


EXERCISES = [BYTES, ATTENTION, CACHE, FLOPS]
