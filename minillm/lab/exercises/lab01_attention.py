"""Lab 01: one cached attention step, its cases and the wrong ideas about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from minillm.lab.exercise import Case, Exercise, Misconception


def attend_step(
    query: Tensor, key: Tensor, value: Tensor, keys: Tensor, values: Tensor, length: int
) -> Tensor:
    """Append one token's key and value, then attend over all held."""
    B, H, E = query.shape
    K = key.shape[1]
    keys[:, :, length], values[:, :, length] = key, value
    held_keys, held_values = keys[:, :, : length + 1], values[:, :, : length + 1]
    scores = query.view(B, K, H // K, E) @ held_keys.transpose(-1, -2) / E**0.5
    return (scores.softmax(dim=-1) @ held_values).reshape(B, H, E)


def _wrong_attention(
    slot: int = 0,
    reach: int = 1,
    scale: Callable[[int], float] = lambda E: E**0.5,
    softmax_axis: int = -1,
    interleaved: bool = False,
    writes: bool = True,
) -> Callable[..., Tensor]:
    """attend_step with one thing wrong.

    slot: added to the slot written; reach: slots read beyond `length`; interleaved: query head h reads KV
    head h mod K; writes=False: the slab given stays as it was.
    """

    def attend(
        query: Tensor, key: Tensor, value: Tensor, keys: Tensor, values: Tensor, length: int
    ) -> Tensor:
        B, H, E = query.shape
        K = key.shape[1]
        if not writes:
            keys, values = keys.clone(), values.clone()
        keys[:, :, length + slot], values[:, :, length + slot] = key, value
        held_keys, held_values = keys[:, :, : length + reach], values[:, :, : length + reach]
        neighbors = query.view(B, K, H // K, E)
        grouped = query.view(B, H // K, K, E).transpose(1, 2) if interleaved else neighbors
        weights = (grouped @ held_keys.transpose(-1, -2) / scale(E)).softmax(dim=softmax_axis)
        mixed = weights @ held_values
        return (mixed.transpose(1, 2) if interleaved else mixed).reshape(B, H, E)

    return attend


def _step(B: int, H: int, K: int, length: int, capacity: int, name: str) -> Case:
    """One step of width 8, with leftovers in the free slots; the outcome is the output and what the slab "
    "holds."""

    def run(attend: Callable[..., Tensor]) -> Any:
        random = torch.Generator().manual_seed(100 * H + 10 * K + length)
        query, key, value = (torch.randn(B, heads, 8, generator=random) for heads in (H, K, K))
        keys, values = (torch.randn(B, K, capacity, 8, generator=random) for _ in range(2))
        output = attend(query, key, value, keys, values, length)
        return {"output": output, "keys": keys, "values": values}

    return Case(name, run)


ATTENTION = Exercise(
    "01.attend_step",
    reference=attend_step,
    cases=[
        _step(1, 2, 2, 3, 6, "MHA: 2 query heads, 2 KV heads, 3 tokens held"),
        _step(2, 6, 2, 3, 6, "GQA: 6 query heads, 2 KV heads, 2 rows"),
        _step(1, 4, 1, 4, 6, "MQA: 4 query heads, 1 KV head"),
        _step(1, 4, 2, 0, 3, "the very first token: nothing held yet"),
        _step(1, 4, 2, 5, 6, "the last free slot"),
    ],
    misconceptions=[
        Misconception(
            "no scale",
            _wrong_attention(scale=lambda E: 1.0),
            "The scores are not divided by the square root of the head width: softmax then picks a winner "
            "too sharply.",
        ),
        Misconception(
            "scaled by E instead of its root",
            _wrong_attention(scale=float),
            "The scores are divided by E. It is the square root of E that keeps their spread near 1.",
        ),
        Misconception(
            "the new token does not see itself",
            _wrong_attention(reach=0),
            "Attention runs over the tokens held before this step. A token attends to itself too: append "
            "first.",
        ),
        Misconception(
            "reads the free slots",
            _wrong_attention(reach=10**6),
            "Attention runs over the whole slab. The slots after the new token hold leftovers and must "
            "not be read.",
        ),
        Misconception(
            "written one slot late",
            _wrong_attention(slot=-1, reach=0),
            "The new token overwrites the last one held: with `length` tokens in slots 0 to length - 1, "
            "the next free "
            "slot is number `length`.",
        ),
        Misconception(
            "softmax over the wrong axis",
            _wrong_attention(softmax_axis=-2),
            "The weights are normalized over the query heads of a group. They must sum to 1 over the tokens.",
        ),
        Misconception(
            "groups interleaved",
            _wrong_attention(interleaved=True),
            "Query head h reads KV head h mod K here. Neighbors share: with G = H/K, heads 0 to G - 1 "
            "read KV head 0.",
        ),
        Misconception(
            "nothing stored",
            _wrong_attention(writes=False),
            "The output is right, but the slab is as it was: write the new key and value into the tensors "
            "you were "
            "given, or the next step will miss them.",
        ),
    ],
    hints=[
        "Write first, read after: the next free slot is number `length`; then length + 1 slots are valid.",
        "View the query as [B, K, G, E], G = H // K: the G heads of a group are G queries on one key head.",
        "scores [B, K, G, T] = query @ keys transposed, divided by the root of E; softmax over T; times "
        "values.",
        "Back from [B, K, G, E] to [B, H, E] is one reshape, since neighbors share a KV head.",
    ],
)
