"""Where training starts: random weights with the beginnings of attention in them (after 2305.09828).

The first layer's heads each look a fixed number of tokens back; in later layers queries start close to the
keys, and what a head reads it starts by writing back. Training is free to change all of it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from minillm.models.transformer import Transformer

# How far back the heads of the first layer look: a question mark to its subject (1), a value to its subject
# ("The kite is red": 2, "The kite is with Mia": 3, "Mia is in the garden": 4).
OFFSETS = {3: (1, 2, 4), 6: (1, 2, 3, 4, 1, 2)}
SHARPNESS = 9.0
FREQUENCIES = 5  # only RoPE's fastest pairs tell neighbors apart


@torch.no_grad()
def initialize(model: Transformer, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    width = model.config.width
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            writes = name.endswith(("out.weight", "down.weight"))
            shrink = (2 * model.config.layers) ** -0.5 if writes else 1.0
            nn.init.normal_(parameter, std=width**-0.5 * shrink, generator=generator)
    model.embedding.weight.add_(width**-0.5)  # a direction all tokens share: what a bias would be
    _look_back(model)
    for layer in list(model.layers)[1:]:
        _match_and_copy(layer.attention)


def _look_back(model: Transformer) -> None:
    """First layer: from the shared direction alone, queries that meet the key `offset` tokens before."""
    config, attention = model.config, model.layers[0].attention
    E, D = config.head_width, config.width
    fast = torch.zeros(E // 2, dtype=torch.cfloat)
    fast[:FREQUENCIES] = 1
    size = (SHARPNESS * E**0.5) ** 0.5 * 2**0.5
    for head, offset in enumerate(OFFSETS[config.heads]):
        turned_back = fast * torch.exp(-1j * offset * model.inverse_frequencies)
        _point(attention.qkv.weight[head * E : (head + 1) * E], turned_back, size / D)
    for head in range(config.heads, config.heads + config.kv_heads):
        _point(attention.qkv.weight[head * E : (head + 1) * E], fast, size / D)
    # Each head writes to a subspace of its own, so that what each offset brings can be told apart.
    subspaces, _ = torch.linalg.qr(attention.out.weight)
    attention.out.weight.copy_(subspaces * (E / D) ** 0.5)


def _point(rows: Tensor, direction: Tensor, size: float) -> None:
    """Let the rows [E, D] of one head answer to the shared direction, and little to anything else."""
    rows.mul_(0.1).add_(torch.cat((direction.real, direction.imag))[:, None], alpha=size)


def _match_and_copy(attention: nn.Module) -> None:
    E, H, K = attention.head_width, attention.heads, attention.kv_heads
    weight = attention.qkv.weight
    for head in range(H):
        group = head // (H // K)
        key = weight[(H + group) * E : (H + group + 1) * E]
        value = weight[(H + K + group) * E : (H + K + group + 1) * E]
        weight[head * E : (head + 1) * E].mul_(0.7).add_(key)
        attention.out.weight[:, head * E : (head + 1) * E].mul_(0.7).add_(value.T, alpha=0.5)
