"""The contiguous cache against a model of itself: plain Python lists, one per row."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from minillm.cache import ContiguousCache
from minillm.errors import CapacityExceeded
from minillm.models.config import ModelConfig

L, K, E = 2, 3, 4
SHAPE = SimpleNamespace(layers=L, kv_heads=K, head_width=E)


def feed(cache, counts, stamp, new=None):
    """One forward pass of recognizable numbers: `stamp` plus the position within the pass."""
    new = max(counts) if new is None else new
    uniform = min(counts) == new
    positions = cache.reserve(new, None if uniform else counts)
    tokens = stamp + torch.arange(new, dtype=torch.float32).expand(cache.batch, new)
    keys = tokens[:, None, :, None].expand(-1, K, -1, E)
    returned = [cache.update(layer, keys + 1000 * layer, -keys) for layer in range(L)]
    cache.commit()
    return positions, returned


@given(
    passes=st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any), max_size=6),
    cuts=st.lists(st.floats(0, 1), min_size=6, max_size=6),
)
@settings(deadline=None, max_examples=60)
def test_any_sequence_of_passes_and_cuts_equals_plain_lists(passes, cuts):
    cache = ContiguousCache(SHAPE, batch=3, capacity=24)
    rows = [[], [], []]
    for index, (counts, cut) in enumerate(zip(passes, cuts, strict=False)):
        positions, returned = feed(cache, counts, stamp=100.0 * index)
        for row, count in enumerate(counts):
            assert positions[row].tolist() == list(range(len(rows[row]), len(rows[row]) + max(counts)))
            rows[row] += [100.0 * index + i for i in range(count)]
        for layer, (keys, values) in enumerate(returned):
            for row, held in enumerate(rows):
                assert keys[row, 0, : len(held), 0].tolist() == [x + 1000 * layer for x in held]
                assert values[row, K - 1, : len(held), E - 1].tolist() == [-x for x in held]
        if index % 2:
            kept = [int(cut * len(held)) for held in rows]
            cache.truncate(kept)
            rows = [held[:k] for held, k in zip(rows, kept, strict=True)]
        assert cache.lengths.tolist() == [len(held) for held in rows]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_bytes_equal_the_formula(dtype):
    config = ModelConfig("m", 10, 32, layers=5, heads=4, kv_heads=2, head_width=8, mlp_width=16)
    cache = ContiguousCache(config, batch=3, capacity=17, dtype=dtype)
    assert cache.nbytes == config.kv_bytes_per_token(dtype.itemsize) * 3 * 17


def test_an_overflow_names_the_row_and_changes_nothing():
    cache = ContiguousCache(SHAPE, batch=2, capacity=5)
    feed(cache, [3, 1], stamp=0.0)
    before = cache.keys.clone()
    with pytest.raises(CapacityExceeded, match=r"row 0 holds 3 tokens and was given 3 more.*capacity=6"):
        cache.reserve(3, [3, 2])
    assert torch.equal(cache.keys, before)
    assert cache.lengths.tolist() == [3, 1]
    feed(cache, [2, 4], stamp=50.0)
    assert cache.lengths.tolist() == [5, 5]


def test_padding_needs_no_room():
    cache = ContiguousCache(SHAPE, batch=2, capacity=4)
    feed(cache, [4, 1], stamp=0.0)
    feed(cache, [0, 2], stamp=10.0, new=3)
    assert cache.lengths.tolist() == [4, 3]


def test_a_pass_that_breaks_off_leaves_the_lengths():
    cache = ContiguousCache(SHAPE, batch=1, capacity=8)
    feed(cache, [3], stamp=0.0)
    cache.reserve(4)
    cache.update(0, torch.ones(1, K, 4, E), torch.ones(1, K, 4, E))
    assert cache.lengths.tolist() == [3]
    positions, _ = feed(cache, [2], stamp=7.0)
    assert positions.tolist() == [[3, 4]]


@pytest.mark.parametrize("counts", [[1], [1, 2, 3], [5, 1], [-1, 2]])
def test_wrong_counts_are_refused(counts):
    with pytest.raises(ValueError, match="2 counts from 0 to 4"):
        ContiguousCache(SHAPE, batch=2, capacity=8).reserve(4, counts)


@pytest.mark.parametrize("length", [4, -1, [1], [1, 5]])
def test_a_wrong_cut_is_refused(length):
    cache = ContiguousCache(SHAPE, batch=2, capacity=8)
    feed(cache, [3, 3], stamp=0.0)
    with pytest.raises(ValueError, match="cannot cut"):
        cache.truncate(length)


def test_an_update_without_a_reservation_is_refused():
    with pytest.raises(RuntimeError, match="reserve"):
        ContiguousCache(SHAPE, batch=1, capacity=2).update(0, torch.ones(1, K, 1, E), torch.ones(1, K, 1, E))


@pytest.mark.parametrize(("batch", "capacity"), [(0, 5), (2, 0)])
def test_an_empty_cache_is_refused(batch, capacity):
    with pytest.raises(ValueError, match="at least one"):
        ContiguousCache(SHAPE, batch=batch, capacity=capacity)
