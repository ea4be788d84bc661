"""Which keys a query may read."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from minillm.cache.contract import KVCache


class AttentionMask(NamedTuple):
    """Either a boolean table, or None with a flag for the plain causal triangle."""

    allowed: Tensor | None  # bool [B, 1, S, T], True where query s may read key t
    is_causal: bool


def causal_mask(positions: Tensor, cache: KVCache | None, window: int | None) -> AttentionMask:
    """The mask for queries at `positions` [B, S] over keys whose slot equals their position.

    Rows of 3 and 1 cached tokens, 2 new ones each (x: may read):

        slot       0 1 2 3 4          slot       0 1 2 3 4
        query 3    x x x x .          query 1    x x . . .
        query 4    x x x x x          query 2    x x x . .

    Slots past a row's own tokens need no mask of their own: they lie after every valid query.
    """
    S = positions.shape[1]
    slots = S if cache is None else cache.reserved_length
    windowed = window is not None and slots > window
    if not windowed:
        if slots == S and (cache is None or cache.uniform_start == 0):
            return AttentionMask(None, is_causal=S > 1)
        if S == 1 and cache is not None and cache.uniform_start is not None:
            return AttentionMask(None, is_causal=False)
    slot = torch.arange(slots, device=positions.device)
    query = positions[:, None, :, None]  # [B, 1, S, 1]
    allowed = slot <= query
    if windowed:
        allowed = allowed & (slot > query - window)
    return AttentionMask(allowed, is_causal=False)
