"""Where the weights that a forward step multiplies by sit: in the layers, and in the head.

An embedding is looked up, not multiplied, and norms are too small to count: neither is here, so the two
add up to a little less than `config.parameters()`. No torch: cost models read it anywhere.
"""

from __future__ import annotations

from minillm.models.config import ModelConfig


def layer_weights(config: ModelConfig) -> int:
    """Weights in the matrices of all layers: q, k, v, out, gate, up, down. Every new token meets them all."""
    attention = 2 * (config.heads + config.kv_heads) * config.head_width * config.width
    return config.layers * (attention + 3 * config.width * config.mlp_width)


def head_weights(config: ModelConfig) -> int:
    """Weights in the unembedding, V·D. Only a position whose next token is wanted meets them."""
    return config.vocab_size * config.width
