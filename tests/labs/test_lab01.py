"""Lab 01: right answers written otherwise pass, wrong ones are told what is wrong; golden values, figures."""

import math

import pytest
import torch
import torch.nn.functional as F

from minillm.cache import ContiguousCache
from minillm.decoding import Sampling, generate
from minillm.decoding.generate import decode_steps
from minillm.errors import CapacityExceeded
from minillm.hardware import model_config
from minillm.lab import check
from minillm.lab.claims import check_claim, load_claims
from minillm.lab.exercises.lab01_equal_rows import EqualRows
from minillm.models.config import ModelConfig
from minillm.models.transformer import Transformer


def diagnosis(exercise, learner):
    result = check(exercise, learner)
    assert not result.passed, str(result)
    return result.misconception or result.state


# Bytes per token


def test_bytes_written_otherwise():
    def bytes_of(layers, kv_heads, head_width, bytes_per_value):
        per_layer = sum(kv_heads * head_width * bytes_per_value for _ in ("key", "value"))
        return float(per_layer * layers)

    assert check("01.kv_bytes_per_token", bytes_of).passed


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda L, K, E, b: L * (K * E * b), "keys only"),
        (lambda L, K, E, b: 2 * b * K * E, "one layer only"),
        (lambda L, K, E, b: 2 * L * E * b, "one head only"),
        (lambda L, K, E, b: L * K * E + L * K * E, "values counted, not bytes"),
        (lambda L, K, E, b: 16 * L * K * E * b, "bits for bytes"),
        (lambda L, K, E, b: 2 * L * K * E * b / 1024, "wrong value"),
        (lambda L, K, E, b: 2 * L * K * K * E * b, "wrong value"),
        (lambda L, K, E, b: 2 * (L + 1) * K * E * b, "wrong value"),
        (lambda L, K, E, b: f"{2 * L * K * E * b} bytes", "wrong shape or type"),
        (lambda L, K, E: 2 * L * K * E, "raised an error"),
    ],
)
def test_wrong_bytes(wrong, told):
    assert diagnosis("01.kv_bytes_per_token", wrong) == told


def test_a_missing_factor_is_named():
    result = check("01.kv_bytes_per_token", lambda L, K, E, b: 3 * L * K * E * b)
    assert "1.5 times the expected" in result.message


@pytest.mark.parametrize(
    ("name", "kib"),
    [
        ("llama-2-7b", 512),
        ("llama-2-13b", 800),
        ("llama-3-8b", 128),
        ("llama-2-70b", 320),
        ("qwen2.5-0.5b", 12),
    ],
)
def test_bytes_of_published_models(name, kib):
    assert model_config(name).kv_bytes_per_token(2) == kib * 1024


# One step of attention


def with_sdpa(query, key, value, keys, values, length):
    """PyTorch's attention, K and V expanded for the groups."""
    keys[:, :, length] = key
    values[:, :, length] = value
    group = query.shape[1] // key.shape[1]
    held = [slab[:, :, : length + 1].repeat_interleave(group, dim=1) for slab in (keys, values)]
    return F.scaled_dot_product_attention(query[:, :, None], *held)[:, :, 0]


def with_loops(query, key, value, keys, values, length):
    """Head by head, with copy_ and a where-mask over the whole slab instead of a slice."""
    keys[:, :, length].copy_(key)
    values[:, :, length].copy_(value)
    B, H, E = query.shape
    output = torch.empty(B, H, E)
    future = torch.arange(keys.shape[2]) > length
    for head in range(H):
        mine = head // (H // key.shape[1])
        scores = (keys[:, mine] @ query[:, head, :, None])[..., 0] / math.sqrt(E)
        weights = scores.masked_fill(future, -torch.inf).softmax(-1)
        output[:, head] = (weights[:, None] @ values[:, mine])[:, 0]
    return output


@pytest.mark.parametrize("right", [with_sdpa, with_loops])
def test_attention_written_otherwise(right):
    assert check("01.attend_step", right).passed


def spoiled(scale=None, first=0, last=1, slot=0, swap=False, only_keys=False, tile=False, squeeze=False):
    """with_sdpa, spoiled in one way."""

    def attend(query, key, value, keys, values, length):
        keys[:, :, length + slot] = value if swap else key
        if not only_keys:
            values[:, :, length + slot] = key if swap else value
        group = query.shape[1] // key.shape[1]
        held = [slab[:, :, first : length + last] for slab in (keys, values)]
        if tile:
            held = [part.repeat(1, group, 1, 1) for part in held]
        else:
            held = [part.repeat_interleave(group, dim=1) for part in held]
        output = F.scaled_dot_product_attention(query[:, :, None], *held, scale=scale)
        return output if squeeze else output[:, :, 0]

    return attend


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (spoiled(scale=1.0), "no scale"),
        (spoiled(scale=1 / 8), "scaled by E instead of its root"),
        (spoiled(last=1000), "reads the free slots"),
        (spoiled(tile=True), "groups interleaved"),
        (spoiled(slot=-1, last=0), "written one slot late"),
        (spoiled(swap=True), "wrong value"),
        (spoiled(only_keys=True), "wrong value"),
        (spoiled(first=1), "wrong value"),
        (spoiled(squeeze=True), "wrong shape or type"),
        (spoiled(slot=1), "wrong value"),
    ],
)
def test_wrong_attention(wrong, told):
    assert diagnosis("01.attend_step", wrong) == told


def test_attention_with_query_heads_as_kv_heads_is_an_error():
    def attend(query, key, value, keys, values, length):
        keys[:, :, length], values[:, :, length] = key, value
        scores = torch.einsum("bhe,bhte->bht", query, keys[:, :, : length + 1]) / query.shape[-1] ** 0.5
        return torch.einsum("bht,bhte->bhe", scores.softmax(-1), values[:, :, : length + 1])

    result = check("01.attend_step", attend)
    assert result.state == "raised an error" and result.cases[0].state == "passed"


def test_attention_without_storing():
    def attend(query, key, value, keys, values, length):
        return with_sdpa(query, key, value, keys.clone(), values.clone(), length)

    assert diagnosis("01.attend_step", attend) == "nothing stored"


def test_attention_that_forgets_itself():
    def attend(query, key, value, keys, values, length):
        keys[:, :, length], values[:, :, length] = key, value
        B, K, G, E = *key.shape[:2], query.shape[1] // key.shape[1], query.shape[2]
        weights = torch.einsum("bkge,bkte->bkgt", query.reshape(B, K, G, E), keys[:, :, :length]) / E**0.5
        return torch.einsum("bkgt,bkte->bkge", weights.softmax(-1), values[:, :, :length]).reshape(
            B, K * G, E
        )

    assert diagnosis("01.attend_step", attend) == "the new token does not see itself"


# The cache


class ListOfLayers(EqualRows):
    """A right answer with one slab for keys and values together, split by views."""

    def __init__(self, config, batch, capacity):
        self.both = torch.zeros(
            2, config.layers, batch, config.kv_heads, capacity, config.head_width, dtype=torch.float32
        )
        self.keys, self.values = self.both

    def reserve(self, new, counts=None):
        _, batch, _, capacity, _ = self.keys.shape
        if new > capacity - self.length:
            raise CapacityExceeded("full")
        self.new = new
        return (self.length + torch.arange(new)).repeat(batch, 1)

    def update(self, layer, keys, values):
        place = slice(self.length, self.length + keys.shape[2])
        self.both[0, layer, :, :, place] = keys
        self.both[1, layer, :, :, place] = values
        return tuple(self.both[:, layer, :, :, : place.stop])

    def commit(self):
        self.length, self.new = self.length + self.new, 0


def test_cache_written_otherwise():
    assert check("01.MyCache", ListOfLayers).passed


class FromZero(ListOfLayers):
    def reserve(self, new, counts=None):
        super().reserve(new)
        return torch.arange(new).repeat(self.keys.shape[1], 1)


class OneBased(ListOfLayers):
    def reserve(self, new, counts=None):
        return super().reserve(new) + 1


class RefusesTheLast(ListOfLayers):
    def reserve(self, new, counts=None):
        if self.length + new > self.keys.shape[3] - 1:
            raise CapacityExceeded("full")
        return super().reserve(new)


class NewOnly(ListOfLayers):
    def update(self, layer, keys, values):
        super().update(layer, keys, values)
        return keys.clone(), values.clone()


class OldOnly(ListOfLayers):
    def update(self, layer, keys, values):
        held = super().update(layer, keys, values)
        return tuple(part[:, :, : self.length] for part in held)


class Whole(ListOfLayers):
    def update(self, layer, keys, values):
        super().update(layer, keys, values)
        return self.keys[layer], self.values[layer]


class Swapped(ListOfLayers):
    def update(self, layer, keys, values):
        return super().update(layer, values, keys)


class MovesInUpdate(ListOfLayers):
    def update(self, layer, keys, values):
        held = super().update(layer, keys, values)
        self.length += keys.shape[2]
        return held

    def commit(self):
        pass


class MovesInReserve(ListOfLayers):
    def reserve(self, new, counts=None):
        positions = super().reserve(new)
        self.length += new
        return positions

    def commit(self):
        self.new = 0


class OneLayer(ListOfLayers):
    def update(self, layer, keys, values):
        return super().update(-2, keys, values)


class WrongError(ListOfLayers):
    def reserve(self, new, counts=None):
        try:
            return super().reserve(new)
        except CapacityExceeded:
            raise IndexError("full") from None


class NoPositions(ListOfLayers):
    def reserve(self, new, counts=None):
        super().reserve(new)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (FromZero, "positions from zero"),
        (OneBased, "wrong value"),
        (RefusesTheLast, "last slot unused"),
        (NewOnly, "returns the new tokens only"),
        (OldOnly, "wrong shape or type"),
        (Whole, "returns the whole slab"),
        (Swapped, "wrong value"),
        (OneLayer, "layers overwrite each other"),
        (MovesInUpdate, "length moves once per layer"),
        (WrongError, "wrong value"),
        (NoPositions, "wrong shape or type"),
    ],
)
def test_wrong_cache(wrong, told):
    assert diagnosis("01.MyCache", wrong) == told


def test_a_cache_that_moves_in_reserve_does_not_pass():
    assert not check("01.MyCache", MovesInReserve).passed


def small_model():
    torch.manual_seed(0)
    config = ModelConfig("small", 64, width=48, layers=2, heads=6, kv_heads=2, head_width=8, mlp_width=64)
    return Transformer(config).eval()


@pytest.mark.parametrize("cache_type", [ListOfLayers, ContiguousCache])
def test_a_cache_that_passes_drives_a_model(cache_type):
    """What the lab promises: greedy text through a learner's cache is that of the package, for two rows."""
    model, prompts = small_model(), [[1, 2, 3, 4, 5], [9, 8, 7, 6, 5]]
    cache = cache_type(model.config, 2, 24)
    steps = decode_steps(model, prompts, 20, [Sampling()] * 2, cache=cache)
    rows = [list(row) for row in zip(*steps, strict=True)]
    assert rows == generate(model, prompts, 20, eos_ids=())
    assert rows[0] == uncached(model, prompts[0], 20)
    assert cache.lengths.tolist() == [24, 24]


@torch.inference_mode()
def uncached(model, prompt, new):
    ids = list(prompt)
    for _ in range(new):
        ids.append(int(model(torch.tensor([ids]))[0, -1].argmax()))
    return ids[len(prompt) :]


@torch.inference_mode()
def test_a_cache_with_positions_from_zero_changes_the_logits():
    model, logits = small_model(), []
    for cache_type in (ListOfLayers, FromZero):
        cache = cache_type(model.config, 1, 8)
        model(torch.tensor([[1, 2, 3, 4, 5]]), cache)
        logits.append(model(torch.tensor([[6]]), cache))
    assert not torch.allclose(*logits, atol=1e-3)


def test_given_part_cuts_and_refuses():
    cache = ListOfLayers(small_model().config, 1, 8)
    cache.reserve(5)
    cache.commit()
    cache.truncate(2)
    assert cache.lengths.tolist() == [2] and cache.uniform_start == 2
    with pytest.raises(ValueError, match="cannot cut 2 tokens to 3"):
        cache.truncate(3)


# FLOPs


def test_flops_written_otherwise():
    def flops(width, context, cached):
        rows = {True: 1, False: context}[cached]
        projections, mlp = 4 * width * width, 2 * width * (4 * width)
        scores = mixing = 2 * rows * context * width
        return [2 * rows * (projections + mlp), scores + mixing]

    assert check("01.step_flops", flops).passed


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda d, t, c: (12 * d * d * (1 if c else t), 2 * d * t * (1 if c else t)), "multiplications only"),
        (lambda d, t, c: (8 * d * d * (1 if c else t), 4 * d * t * (1 if c else t)), "the MLP is missing"),
        (lambda d, t, c: (24 * d * d * (1 if c else t), 2 * d * t * (1 if c else t)), "scores only"),
        (
            lambda d, t, c: (24 * d * d * (1 if c else t), 4 * d * t * t),
            "attention stays quadratic with the cache",
        ),
        (
            lambda d, t, c: (24 * d * d, 4 * d * t * (1 if c else t)),
            "the linear layers run once without a cache",
        ),
        (
            lambda d, t, c: (24 * d * d * (1 if c else t), 4 * d * (1 if c else t * t)),
            "the cache makes attention constant",
        ),
        (lambda d, t, c: (4 * d * t * (1 if c else t), 24 * d * d * (1 if c else t)), "wrong value"),
        (lambda d, t, c: (24 * d * (1 if c else t), 4 * d * t * (1 if c else t)), "wrong value"),
        (lambda d, t, c: (24 * d * d * (t if c else 1), 4 * d * t * (t if c else 1)), "wrong value"),
        (lambda d, t, c: (24 * d * d * (1 if c else t), 4 * d * (t + 1) * (1 if c else t)), "wrong value"),
        (lambda d, t, c: 24 * d * d * (1 if c else t) + 4 * d * t * (1 if c else t), "wrong shape or type"),
    ],
)
def test_wrong_flops(wrong, told):
    assert diagnosis("01.step_flops", wrong) == told


# Claims and figures


def test_every_claim_of_the_lab_falls_in_its_range():
    claims = load_claims("01")
    assert len(claims) >= 8
    for claim in claims:
        checked = check_claim(claim)
        assert checked.within, f"{claim.id}: {checked.shown}"


def test_figures_are_drawn_from_what_they_are_given():
    from matplotlib import pyplot as plt

    from minillm.viz import kv_cache as draw

    computed = draw.computed_tokens([3, 4, 5], [3, 1, 1])
    assert [axis.get_title(loc="left") for axis in computed.axes] == [
        "without a cache: 12 tokens computed",
        "with a cache: 5 tokens computed",
    ]
    left, right = (axis.images[0].get_array().tolist() for axis in computed.axes)
    assert left == [[2, 2, 2, 0, 0], [3, 3, 3, 3, 0], [3, 3, 3, 3, 3]]
    assert right == [[2, 2, 2, 0, 0], [1, 1, 1, 3, 0], [1, 1, 1, 1, 3]]

    maps = draw.changed_keys({"same": torch.zeros(2, 3), "other": torch.eye(2, 3)})
    shown = [axis.images[0].get_array().mask.tolist() for axis in maps.axes[:2]]
    assert shown == [[[True] * 3] * 2, [[False, True, True], [True, False, True]]]
    assert [text.get_text() for text in maps.axes[0].texts] == ["nothing changes"]

    bar = draw.memory_bar("m", weights=20 * 2**30, cache=5 * 2**30, memory=24 * 2**30, device="card")
    assert bar.axes[0].get_title(loc="left") == "m: does not fit"
    sizes = draw.cache_size({"a": (2**10, 2**20), "never": (1, 2**40)}, [2**9, 2**12])
    dots = [
        line.get_xdata()[0]
        for line in sizes.axes[0].lines
        if line.get_marker() == "o" and len(line.get_xdata())
    ]
    assert dots == [2**10]
    plt.close("all")
