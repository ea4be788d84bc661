"""The plain KV cache: one preallocated slab per layer, a row per request, a slot per position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from minillm.cache.contract import KVCache
from minillm.errors import CapacityExceeded


class CacheShape(Protocol):
    """The part of a model's configuration that a cache needs."""

    layers: int
    kv_heads: int
    head_width: int


class ContiguousCache(KVCache):
    """Keys and values [L, B, K, capacity, E], all allocated at once.

    What one pays for the simplicity: every row reserves `capacity` slots, used or not.
    """

    def __init__(
        self,
        shape: CacheShape,
        batch: int,
        capacity: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        if batch < 1 or capacity < 1:
            raise ValueError(
                f"a cache needs at least one row and one slot; got batch={batch}, capacity={capacity}."
            )
        self.batch, self.capacity = batch, capacity
        size = (shape.layers, batch, shape.kv_heads, capacity, shape.head_width)
        # Zeros, not empty memory: a masked NaN would still poison the weighted sum of the values.
        self.keys = torch.zeros(size, dtype=dtype, device=device)
        self.values = torch.zeros(size, dtype=dtype, device=device)
        self._held = [0] * batch
        self._counts = [0] * batch
        self._positions: Tensor | None = None
        self._reserved = 0
        self._uniform: int | None = 0

    @property
    def lengths(self) -> Tensor:
        return torch.tensor(self._held, device=self.keys.device)

    @property
    def uniform_start(self) -> int | None:
        return self._uniform

    @property
    def reserved_length(self) -> int:
        return self._reserved

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.values.nbytes

    def reserve(self, new: int, counts: Sequence[int] | None = None) -> Tensor:
        counts = self._checked_counts(new, counts)
        for row, (held, count) in enumerate(zip(self._held, counts, strict=True)):
            if held + count > self.capacity:
                raise CapacityExceeded(
                    f"row {row} holds {held} tokens and was given {count} more, but this cache has "
                    f"{self.capacity} "
                    f"slots a row; allocate capacity={held + count} or shorten the prompt."
                )
        self._counts = counts
        self._reserved = max(held + count for held, count in zip(self._held, counts, strict=True))
        same = min(self._held) == max(self._held) and min(counts) == new
        self._uniform = self._held[0] if same else None
        starts = torch.tensor(self._held, device=self.keys.device)
        self._positions = starts[:, None] + torch.arange(new, device=self.keys.device)
        return self._positions

    def update(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        if self._positions is None:
            raise RuntimeError(
                "update() needs a reserve() before it: the cache does not know where to write."
            )
        if self._uniform is None:
            self._scatter(layer, keys, values)
        stored = self.keys[layer], self.values[layer]  # [B, K, capacity, E] each
        if self._uniform is not None:
            for slab, new in zip(stored, (keys, values), strict=True):
                slab.narrow(2, self._uniform, new.shape[2]).copy_(new)
        return stored[0].narrow(2, 0, self._reserved), stored[1].narrow(2, 0, self._reserved)

    def commit(self) -> None:
        self._held = [held + count for held, count in zip(self._held, self._counts, strict=True)]
        self._counts = [0] * self.batch
        self._positions = None

    def truncate(self, length: int | Sequence[int]) -> None:
        kept = [length] * self.batch if isinstance(length, int) else [int(value) for value in length]
        if len(kept) != self.batch or any(not 0 <= k <= h for k, h in zip(kept, self._held, strict=False)):
            raise ValueError(
                f"cannot cut rows of {self._held} tokens to {kept}; give 0 to the tokens each row holds."
            )
        self._held = kept

    def _checked_counts(self, new: int, counts: Sequence[int] | None) -> list[int]:
        if counts is None:
            return [new] * self.batch
        checked = [int(count) for count in counts]
        if len(checked) != self.batch or any(not 0 <= count <= new for count in checked):
            raise ValueError(f"expected {self.batch} counts from 0 to {new}, one per row; got {checked}.")
        return checked

    def _scatter(self, layer: int, keys: Tensor, values: Tensor) -> None:
        """Write each row's valid tokens at that row's own positions; padding is written nowhere."""
        counts = torch.tensor(self._counts, device=keys.device)
        valid = torch.arange(keys.shape[2], device=keys.device) < counts[:, None]  # [B, S]
        rows, columns = valid.nonzero(as_tuple=True)
        slots = self._positions[rows, columns]
        self.keys[layer, rows, :, slots] = keys[rows, :, columns]
        self.values[layer, rows, :, slots] = values[rows, :, columns]
