"""Generation: cached equals uncached, batches equal single requests, streams stop where they should."""

from __future__ import annotations

import itertools

import pytest
import torch

from minillm.decoding import Sampling, generate, stream
from minillm.decoding.detokenize import Detokenizer
from minillm.decoding.streaming import StopStrings
from minillm.errors import CapacityExceeded
from minillm.models.config import ModelConfig
from minillm.models.loading import build
from minillm.models.transformer import Transformer


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    config = ModelConfig(
        "random",
        61,
        32,
        layers=2,
        heads=4,
        kv_heads=2,
        head_width=8,
        mlp_width=48,
        max_positions=64,
        eos_ids=(7,),
    )
    made = Transformer(config)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.4 if parameter.ndim == 2 else parameter)
    state = {k: v for k, v in made.state_dict().items() if k != "unembedding.weight"}
    return build(config, state)


def uncached(model, prompt, count):
    """The loop without a cache: everything again for every token."""
    tokens = list(prompt)
    for _ in range(count):
        with torch.no_grad():
            tokens.append(int(model(torch.tensor([tokens]))[0, -1].argmax()))
    return tokens[len(prompt) :]


@pytest.mark.parametrize("prompt", [[1], [5, 9, 3], list(range(20))])
def test_cached_equals_uncached(model, prompt):
    assert generate(model, prompt, 15, eos_ids=()) == uncached(model, prompt, 15)


def test_generation_ends_with_the_end_token(model):
    free = generate(model, [5, 9, 3], 15, eos_ids=())
    end = free[4]
    assert generate(model, [5, 9, 3], 15, eos_ids=(end,)) == free[: free.index(end) + 1]


def test_a_row_that_ended_does_not_change_the_others(model):
    prompts = [[5, 9, 3], [8, 1], [2, 2, 2, 2, 2]]
    free = [generate(model, prompt, 15, eos_ids=()) for prompt in prompts]
    end = free[0][2]
    expected = [row[: row.index(end) + 1] if end in row else row for row in free]
    assert generate(model, prompts, 15, eos_ids=(end,)) == expected


def test_a_seed_gives_the_same_tokens_alone_and_in_a_batch(model):
    prompts = [[5, 9, 3], [8, 1]]
    samplings = [Sampling(1.0, seed=1), Sampling(0.7, top_k=20, seed=2)]
    together = generate(model, prompts, 12, samplings, eos_ids=())
    assert together == [
        generate(model, p, 12, s, eos_ids=()) for p, s in zip(prompts, samplings, strict=True)
    ]


def test_nothing_asked_for_is_nothing_made(model):
    assert generate(model, [1, 2], 0) == []


@pytest.mark.parametrize(
    ("prompts", "count", "error", "wording"),
    [
        ([], 3, ValueError, "0 prompts"),
        ([[1], []], 3, ValueError, "prompt 1 is empty"),
        ([1, 2], -1, ValueError, "0 or more"),
        ([61], 3, ValueError, "knows 0 to 60"),
        ([-1], 3, ValueError, "from -1"),
        (list(range(60)), 5, CapacityExceeded, "60 tokens and asks for 5 more"),
    ],
)
def test_a_request_that_cannot_be_served(model, prompts, count, error, wording):
    with pytest.raises(error, match=wording):
        generate(model, prompts, count)


def test_one_sampling_per_prompt(model):
    with pytest.raises(ValueError, match="2 prompts and 1 samplings"):
        generate(model, [[1], [2]], 3, [Sampling()])


class Bytes:
    """A tokenizer whose tokens are bytes, so that one character may take four of them."""

    def decode(self, ids):
        return bytes(ids).decode("utf-8", errors="replace")


@pytest.mark.parametrize("text", ["plain", "café 東京 \U0001f680!", "é" * 20, "ends in half \U0001f680"])
def test_text_grows_without_half_characters(text):
    detokenizer = Detokenizer(Bytes())
    pieces = [detokenizer.push(byte) for byte in text.encode()]
    assert all("\ufffd" not in piece for piece in pieces)
    assert "".join(pieces) + detokenizer.finish() == text


def test_half_a_character_at_the_end_is_shown_as_such():
    detokenizer = Detokenizer(Bytes())
    shown = "".join(detokenizer.push(byte) for byte in "a\U0001f680".encode()[:-1])
    assert shown == "a"
    assert detokenizer.finish() != ""


@pytest.mark.parametrize(
    ("pieces", "stops", "shown"),
    [
        (["abc", "def"], ["cd"], "ab"),
        (["a", "b", "c"], ["abc"], ""),
        (["ab", "ab", "x"], ["abx"], "ab"),
        (["one END two"], ["END", "one E"], ""),
        (["no stop here"], ["zzz"], "no stop here"),
        (["held en"], ["end"], "held en"),
    ],
)
def test_stop_strings(pieces, stops, shown):
    held = StopStrings(stops)
    text = ""
    for index, piece in enumerate(pieces):
        text += held.push(piece, final=index == len(pieces) - 1)
        if held.hit:
            break
    assert text == shown
    assert held.hit == (shown != "".join(pieces))


def test_an_empty_stop_string_is_refused():
    with pytest.raises(ValueError, match="empty"):
        StopStrings([""])


class Letters:
    def decode(self, ids):
        return "".join(chr(ord("A") + i) for i in ids)


def test_a_stream_is_the_generated_tokens_with_rising_times(model):
    events = list(stream(model, Letters(), [5, 9, 3], 6))
    expected = generate(model, [5, 9, 3], 6)
    assert [event.token for event in events] == expected
    assert all(a.seconds < b.seconds for a, b in itertools.pairwise(events))
    assert [event.finish for event in events][:-1] == [None] * (len(events) - 1)
    assert events[-1].finish == ("stop" if expected[-1] == 7 else "length")


def test_a_stream_stops_at_a_stop_string_and_does_not_show_it(model):
    letters = Letters().decode(generate(model, [5, 9, 3], 6, eos_ids=()))
    stop = letters[2:4]
    events = list(stream(model, Letters(), [5, 9, 3], 6, stop=stop))
    assert "".join(event.text for event in events) == letters[: letters.index(stop)]
    assert events[-1].finish == "stop"
