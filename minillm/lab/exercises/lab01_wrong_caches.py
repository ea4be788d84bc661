"""Lab 01: a cache that works, and the ways to spoil it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from minillm.errors import CapacityExceeded
from minillm.lab.exercises.lab01_equal_rows import EqualRows


class WorkingCache(EqualRows):
    """A right answer, for the wrong ones to spoil. (The exercise's reference is the package's own cache.)"""

    def __init__(self, config: Any, batch: int, capacity: int) -> None:
        self.batch, self.capacity = batch, capacity
        size = (config.layers, batch, config.kv_heads, capacity, config.head_width)
        self.keys, self.values = torch.zeros(size), torch.zeros(size)

    def reserve(self, new: int, counts: Sequence[int] | None = None) -> Tensor:
        if self.length + new > self.capacity:
            raise CapacityExceeded(f"{self.length} + {new} tokens, {self.capacity} slots.")
        self.new = new
        return torch.arange(self.length, self.length + new).expand(self.batch, new)

    def update(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        stop = self.length + self.new
        self.keys[layer, :, :, self.length : stop] = keys
        self.values[layer, :, :, self.length : stop] = values
        return self.keys[layer, :, :, :stop], self.values[layer, :, :, :stop]

    def commit(self) -> None:
        self.length, self.new = self.length + self.new, 0


class PositionsFromZero(WorkingCache):
    def reserve(self, new: int, counts: Sequence[int] | None = None) -> Tensor:
        return super().reserve(new, counts) - self.length


class NeverRefuses(WorkingCache):
    def reserve(self, new: int, counts: Sequence[int] | None = None) -> Tensor:
        self.new = new
        return torch.arange(self.length, self.length + new).expand(self.batch, new)


class LastSlotUnused(WorkingCache):
    def reserve(self, new: int, counts: Sequence[int] | None = None) -> Tensor:
        if self.length + new >= self.capacity:
            raise CapacityExceeded("full")
        return super().reserve(new, counts)


class NewOnly(WorkingCache):
    def update(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        super().update(layer, keys, values)
        return keys, values


class WholeSlab(WorkingCache):
    def update(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        super().update(layer, keys, values)
        return self.keys[layer], self.values[layer]


class LayersShare(WorkingCache):
    def update(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        return super().update(0, keys, values)


class AdvancesPerLayer(WorkingCache):
    def update(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        held = super().update(layer, keys, values)
        self.length += self.new
        return held

    def commit(self) -> None:
        self.new = 0


class ValuesAreKeys(WorkingCache):
    def update(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        return super().update(layer, keys, keys)


class GrowsByCopying(WorkingCache):
    def __init__(self, config: Any, batch: int, capacity: int) -> None:
        super().__init__(config, batch, capacity)
        self.keys, self.values = self.keys[:, :, :, :0], self.values[:, :, :, :0]
        self.grown: dict[int, tuple[Tensor, Tensor]] = {}

    def update(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        if layer in self.grown:
            old_keys, old_values = (held[:, :, : self.length] for held in self.grown[layer])
            keys, values = torch.cat((old_keys, keys), dim=2), torch.cat((old_values, values), dim=2)
        self.grown[layer] = keys, values
        self.keys = torch.stack([pair[0] for pair in self.grown.values() if pair[0].shape == keys.shape])
        self.values = torch.stack([pair[1] for pair in self.grown.values() if pair[1].shape == values.shape])
        return keys, values
