"""Lab 02's exercise on a whole forward step: its FLOPs, and the bytes it moves."""

from __future__ import annotations

from collections.abc import Callable

from minillm.hardware import model_config
from minillm.lab.exercise import Exercise, Misconception, call
from minillm.models.config import ModelConfig
from minillm.models.sizes import head_weights, layer_weights

Work = tuple[float, float]  # FLOPs, bytes


def step_work(config: ModelConfig, batch: int, new: int, cached: int, bytes_per_value: float) -> Work:
    """FLOPs, and bytes moved, of one forward step."""
    flops = 2 * (layer_weights(config) * batch * new + head_weights(config) * batch)
    pairs = batch * (new * cached + new * (new + 1) // 2)
    flops += 4 * config.layers * config.heads * config.head_width * pairs
    weights = layer_weights(config) + head_weights(config)
    kv = batch * (cached + new) * config.kv_bytes_per_token(bytes_per_value)
    return flops, weights * bytes_per_value + kv


def _step(
    mul_add: int = 2,
    pair_flops: int = 4,
    weight_reads: str = "once",
    kv_rows: str = "batch",
    logits: str = "last",
    causal: bool = True,
    recompute: bool = False,
) -> Callable[..., Work]:
    """A step_work with one thing changed."""

    def wrong(config, batch, new, cached, bytes_per_value):
        read = {"once": 1, "per token": batch * new, "per sequence": batch}[weight_reads]
        rows = {"batch": batch, "one": 1, "none": 0}[kv_rows]
        computed = new + cached if recompute else new
        head_rows = batch * new if logits == "every" else batch
        pairs = batch * (new * cached + new * (new + 1) // 2 if causal else new * (cached + new))
        flops = mul_add * (layer_weights(config) * batch * computed + head_weights(config) * head_rows)
        flops += pair_flops * config.layers * config.heads * config.head_width * pairs
        kv = rows * (cached + new) * config.kv_bytes_per_token(bytes_per_value)
        return flops, read * (layer_weights(config) + head_weights(config)) * bytes_per_value + kv

    return wrong


_LLAMA3 = model_config("llama-3-8b")
_SMOL = model_config("smollm2-135m")

STEP = Exercise(
    "02.step_work",
    reference=step_work,
    cases=[
        call(_LLAMA3, 1, 1, 1000, 2, name="Llama-3-8B, batch 1, one token on 1,000 cached"),
        call(_LLAMA3, 16, 1, 1000, 2, name="Llama-3-8B, batch 16, one token on 1,000 cached"),
        call(_LLAMA3, 1, 512, 0, 2, name="Llama-3-8B, a prefill of 512 tokens"),
        call(_SMOL, 3, 40, 25, 4, name="smollm2-135m, batch 3, 40 tokens on 25 cached, float32"),
    ],
    misconceptions=[
        Misconception(
            "one operation per weight",
            _step(mul_add=1, pair_flops=2),
            "A multiplication and an addition are two operations, in the linear layers and in attention "
            "alike.",
        ),
        Misconception(
            "one operation per weight, in the linear layers",
            _step(mul_add=1),
            "Attention is right, but in the linear layers each weight is multiplied and added: two "
            "operations.",
        ),
        Misconception(
            "weights read for every token",
            _step(weight_reads="per token"),
            "Here every token reads the weights again. A step reads them once, for all tokens and "
            "sequences together: that is why prefill is not memory-bound.",
        ),
        Misconception(
            "weights read for every sequence",
            _step(weight_reads="per sequence"),
            "Here every sequence reads the weights again. The batch shares one read: that is why it helps.",
        ),
        Misconception(
            "no keys and values",
            _step(kv_rows="none"),
            "Weights are not all that moves: attention reads the keys and values of every cached token, "
            "and the new ones are written.",
        ),
        Misconception(
            "keys and values of one sequence",
            _step(kv_rows="one"),
            "The weights are shared by the batch, the cache is not: each sequence reads its own.",
        ),
        Misconception(
            "no attention",
            _step(pair_flops=0),
            "Attention's own products, scores and weighted values, are missing: they grow with the context.",
        ),
        Misconception(
            "scores only",
            _step(pair_flops=2),
            "Attention has two products per pair, q·k and then the weighted sum of the values: only one "
            "is here.",
        ),
        Misconception(
            "looks ahead",
            _step(causal=False),
            "A new token sees the cached ones, the new ones before it and itself, none after it.",
        ),
        Misconception(
            "logits for every token",
            _step(logits="every"),
            "Only the last position of each sequence needs logits: the head works once per sequence.",
        ),
        Misconception(
            "computes the cached tokens again",
            _step(recompute=True),
            "Cached tokens pass through no layer again; their keys and values are there. Only new ones "
            "compute.",
        ),
    ],
    hints=[
        "Count tokens first: batch · new pass through the layers, but only batch positions through the head.",
        "A new token attends to all cached ones, to the new ones before it and to itself: over a sequence "
        "that is new · cached + new · (new + 1) / 2 pairs.",
        "A pair costs 4 · H · E FLOPs in each layer: 2 for q·k, 2 for the weighted values.",
        "Bytes: all weights once, and batch · (cached + new) · kv_bytes_per_token.",
    ],
)
