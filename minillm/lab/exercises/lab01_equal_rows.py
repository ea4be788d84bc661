"""Lab 01: what is given of a cache, so that a learner writes only the part that matters."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from minillm.cache import KVCache


class EqualRows(KVCache):
    """What a learner's cache need not write: the rest of the contract, for rows that are all equally long.

    A subclass keeps `keys` and `values` [L, B, K, capacity, E], `length` (tokens held) and `new` (tokens
    reserved for the pass that is under way, 0 between passes).
    """

    keys: Tensor
    values: Tensor
    length: int = 0
    new: int = 0

    @property
    def lengths(self) -> Tensor:
        return torch.full((self.keys.shape[1],), self.length)

    @property
    def uniform_start(self) -> int:
        return self.length

    @property
    def reserved_length(self) -> int:
        return self.length + self.new

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.values.nbytes

    def truncate(self, length: int | Sequence[int]) -> None:
        kept = length if isinstance(length, int) else set(length).pop()
        if not 0 <= kept <= self.length:
            raise ValueError(f"cannot cut {self.length} tokens to {kept}; give 0 to {self.length}.")
        self.length = kept
