"""Logits and greedy text of every family, with and without a cache, against transformers."""

from __future__ import annotations

import pytest
import torch

from minillm.cache import ContiguousCache
from minillm.decoding import generate
from minillm.models import load
from tests.models.families import FAMILIES, oracle, save

TOLERANCE = 1e-4


@pytest.fixture(scope="module", params=sorted(FAMILIES))
def pair(request, tmp_path_factory):
    theirs = oracle(request.param)
    folder = save(theirs, tmp_path_factory.mktemp(request.param))
    return theirs, load(folder).model


def random_tokens(model, batch, length, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, model.config.vocab_size, (batch, length), generator=generator)


@torch.no_grad()
def test_logits_without_a_cache(pair):
    theirs, ours = pair
    tokens = random_tokens(ours, 2, 40)
    torch.testing.assert_close(ours(tokens), theirs(tokens).logits, atol=TOLERANCE, rtol=0)


@torch.no_grad()
def test_logits_token_by_token_from_the_cache(pair):
    theirs, ours = pair
    tokens = random_tokens(ours, 2, 40)
    cache = ContiguousCache(ours.config, batch=2, capacity=40)
    steps = [ours(tokens[:, :7], cache)] + [ours(tokens[:, i : i + 1], cache) for i in range(7, 40)]
    torch.testing.assert_close(torch.cat(steps, dim=1), theirs(tokens).logits, atol=TOLERANCE, rtol=0)


@torch.no_grad()
def test_logits_in_chunks_from_the_cache(pair):
    theirs, ours = pair
    tokens = random_tokens(ours, 2, 40)
    cache = ContiguousCache(ours.config, batch=2, capacity=64)
    chunks = [ours(chunk, cache) for chunk in tokens.split([5, 1, 20, 14], dim=1)]
    torch.testing.assert_close(torch.cat(chunks, dim=1), theirs(tokens).logits, atol=TOLERANCE, rtol=0)


@torch.no_grad()
def test_rows_of_different_lengths(pair):
    """Each row of a ragged batch, through prefill and two more ragged passes, equals the row alone."""
    theirs, ours = pair
    tokens = random_tokens(ours, 3, 30)
    passes = [[12, 3, 9], [4, 0, 5], [1, 1, 1]]
    cache = ContiguousCache(ours.config, batch=3, capacity=20)
    done = [0, 0, 0]
    for counts in passes:
        width = max(counts)
        rows = [tokens[row, done[row] : done[row] + width] for row in range(3)]
        logits = ours(torch.stack(rows), cache, counts)
        for row, count in enumerate(counts):
            alone = theirs(tokens[row : row + 1, : done[row] + count]).logits[0, done[row] :]
            torch.testing.assert_close(logits[row, :count], alone, atol=TOLERANCE, rtol=0)
            done[row] += count
    assert cache.lengths.tolist() == done


def test_greedy_text_is_equal_token_for_token(pair):
    theirs, ours = pair
    prompt = random_tokens(ours, 1, 9, seed=5)
    expected = theirs.generate(prompt, max_new_tokens=20, do_sample=False, eos_token_id=None, pad_token_id=0)
    assert generate(ours, prompt[0].tolist(), 20, eos_ids=()) == expected[0, 9:].tolist()


def test_a_batch_generates_what_its_rows_generate_alone(pair):
    _, ours = pair
    prompts = [random_tokens(ours, 1, length, seed=length)[0].tolist() for length in (3, 11, 6)]
    together = generate(ours, prompts, 12, eos_ids=())
    assert together == [generate(ours, prompt, 12, eos_ids=()) for prompt in prompts]


def test_parameters_are_counted(pair):
    theirs, ours = pair
    assert ours.config.parameters() == sum(p.numel() for p in theirs.parameters())


def test_the_test_can_fail(pair):
    """A model with one head's rotation switched off must not pass: the tolerance is tight enough."""
    theirs, ours = pair
    tokens = random_tokens(ours, 1, 40)
    frequencies = ours.inverse_frequencies.clone()
    try:
        ours.inverse_frequencies[-1] = 0
        with torch.no_grad():
            assert (ours(tokens) - theirs(tokens).logits).abs().max() > TOLERANCE
    finally:
        ours.inverse_frequencies.copy_(frequencies)
