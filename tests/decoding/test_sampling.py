"""Sampling filters against transformers' own, draws against the distribution they should follow."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from minillm.decoding.sampling import Sampler, Sampling, filtered_logits


def theirs(logits, s):
    chain = LogitsProcessorList([TemperatureLogitsWarper(s.temperature)])
    if s.top_k is not None:
        chain.append(TopKLogitsWarper(s.top_k))
    if s.top_p is not None and s.top_p < 1:
        chain.append(TopPLogitsWarper(s.top_p))
    if s.min_p is not None:
        chain.append(MinPLogitsWarper(s.min_p))
    return chain(torch.zeros(1, 1, dtype=torch.long), logits[None])[0]


@given(
    seed=st.integers(0, 10_000),
    temperature=st.floats(0.1, 3),
    top_k=st.none() | st.integers(1, 40),
    top_p=st.none() | st.floats(0.01, 1),
    min_p=st.none() | st.floats(0, 1),
)
@settings(deadline=None, max_examples=200)
def test_filters_equal_those_of_transformers(seed, temperature, top_k, top_p, min_p):
    logits = torch.randn(32, generator=torch.Generator().manual_seed(seed)) * 3
    sampling = Sampling(temperature, top_k, top_p, min_p)
    torch.testing.assert_close(filtered_logits(logits, sampling), theirs(logits, sampling))


def test_draws_follow_the_filtered_distribution():
    logits = torch.tensor([2.0, 1.0, 0.5, 0.0, -1.0, -3.0])
    sampling = Sampling(temperature=0.8, top_k=4, seed=11)
    sampler = Sampler(sampling)
    draws = torch.tensor([sampler.pick(logits) for _ in range(20_000)])
    counts = torch.bincount(draws, minlength=6)
    probabilities = filtered_logits(logits, sampling).softmax(-1)
    assert counts[probabilities == 0].sum() == 0
    kept = probabilities > 0
    assert chisquare(counts[kept].numpy(), (probabilities[kept] * 20_000).numpy()).pvalue > 1e-3


def test_a_seed_repeats_and_another_differs():
    logits = torch.zeros(1000)
    draw = [[Sampler(Sampling(1.0, seed=seed)).pick(logits) for _ in range(1)] for seed in (3, 3, 4)]
    assert draw[0] == draw[1] != draw[2]


def test_temperature_zero_is_the_likeliest():
    assert Sampler(Sampling()).pick(torch.tensor([0.1, 5.0, 4.9])) == 1


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": -1}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}, {"min_p": -0.1}, {"min_p": 2}],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Sampling(**wrong)
