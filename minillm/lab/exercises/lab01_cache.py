"""Lab 01: a KV cache that a model can use, its cases and the wrong ideas about it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from minillm.cache import ContiguousCache, KVCache
from minillm.lab.exercise import Case, Exercise, Misconception, raised
from minillm.lab.exercises import lab01_wrong_caches as wrong

_SHAPE = SimpleNamespace(layers=2, kv_heads=2, head_width=4)


def _pass(cache: KVCache, new: int, seed: int, batch: int = 1, commit: bool = True) -> dict[str, Any]:
    """What one forward pass sees: the positions, and each layer's keys and values."""
    random = torch.Generator().manual_seed(seed)
    seen: dict[str, Any] = {"positions": cache.reserve(new)}
    for layer in range(_SHAPE.layers):
        keys, values = torch.randn(2, batch, _SHAPE.kv_heads, new, _SHAPE.head_width, generator=random)
        held_keys, held_values = cache.update(layer, keys, values)
        seen[f"layer {layer}"] = (held_keys.clone(), held_values.clone())
    if commit:
        cache.commit()
    return seen


def _prompt_then_steps(Cache: Any) -> list[Any]:
    cache = Cache(_SHAPE, 2, 6)
    return [_pass(cache, new, seed, batch=2) for seed, new in enumerate((3, 1, 1))]


def _filled_to_the_last_slot(Cache: Any) -> list[int]:
    cache = Cache(_SHAPE, 1, 4)
    for seed, new in enumerate((3, 1)):
        _pass(cache, new, seed)
    return cache.lengths.tolist()


def _overflow(Cache: Any) -> dict[str, Any]:
    cache = Cache(_SHAPE, 1, 4)
    _pass(cache, 3, 0)
    return {
        "2 more into 1 free slot": raised(cache.reserve, 2),
        "tokens held after it": cache.lengths.tolist(),
    }


def _broken_off(Cache: Any) -> dict[str, Any]:
    cache = Cache(_SHAPE, 1, 8)
    _pass(cache, 2, 0)
    _pass(cache, 3, 1, commit=False)
    return _pass(cache, 1, 2)


def _memory(Cache: Any) -> list[int]:
    """Bytes before any token, and after three: the same where all is allocated at once."""
    cache = Cache(_SHAPE, 3, 5)
    before = cache.nbytes
    _pass(cache, 3, 0, batch=3)
    return [before, cache.nbytes]


CACHE = Exercise(
    "01.MyCache",
    reference=ContiguousCache,
    cases=[
        Case("a prompt of 3, then two single tokens, in 2 rows", _prompt_then_steps),
        Case("filled to the last slot", _filled_to_the_last_slot),
        Case("a token too many is refused, nothing changed", _overflow),
        Case("a pass that breaks off before commit leaves no trace", _broken_off),
        Case("bytes before and after three tokens", _memory),
    ],
    misconceptions=[
        Misconception(
            "positions from zero",
            wrong.PositionsFromZero,
            "Each pass gets positions that start at 0. A new token stands after those held: RoPE would "
            "turn its key "
            "and query as if it opened the text.",
        ),
        Misconception(
            "never refuses",
            wrong.NeverRefuses,
            "Too many tokens are accepted. Check in reserve, before anything is written, and raise "
            "CapacityExceeded.",
        ),
        Misconception(
            "last slot unused",
            wrong.LastSlotUnused,
            "A cache of 4 slots refuses its fourth token: full is allowed, more than full is not.",
        ),
        Misconception(
            "returns the new tokens only",
            wrong.NewOnly,
            "update returns what it was given. Attention needs all tokens held so far, the new ones at "
            "the end.",
        ),
        Misconception(
            "returns the whole slab",
            wrong.WholeSlab,
            "update returns every slot, free ones too: attention would weigh zeros that stand for no token.",
        ),
        Misconception(
            "layers overwrite each other",
            wrong.LayersShare,
            "All layers write to the same place. Each layer has its own keys and values: index by `layer`.",
        ),
        Misconception(
            "length moves once per layer",
            wrong.AdvancesPerLayer,
            "The length moves on in update, so layer 1 writes after layer 0. All layers of a pass use the "
            "same slots; "
            "commit moves the length, once.",
        ),
        Misconception(
            "keys stored twice",
            wrong.ValuesAreKeys,
            "The values returned are the keys.",
        ),
        Misconception(
            "grows by copying",
            wrong.GrowsByCopying,
            "The outputs are right, but the cache grows with torch.cat: every step copies all that is "
            "held. Allocate "
            "`capacity` slots once and write into them.",
        ),
    ],
    hints=[
        "Two tensors of zeros, [L, B, K, capacity, E], made once; everything else is slicing them.",
        "A pass writes slots self.length to self.length + self.new, in every layer the same. reserve sets "
        "self.new.",
        "update writes one layer's slice and returns slots 0 to self.length + self.new of that layer.",
        "reserve returns torch.arange(start, stop).expand(batch, new); commit adds self.new to self.length.",
    ],
)
