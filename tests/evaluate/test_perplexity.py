"""Perplexity against transformers' loss, and its interval against what an interval promises."""

import json
import math
from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from minillm import load
from minillm.errors import CapacityExceeded
from minillm.evaluate import _mean_and_error, evaluation_text, perplexity, token_losses
from minillm.models import available
from minillm.models.config import ModelConfig
from minillm.models.loading import build, read_config
from minillm.models.transformer import Transformer
from minillm.models.weights import read_safetensors, to_state
from minillm.paths import data_dir

needs_smollm2 = pytest.mark.skipif(not available("smollm2-135m"), reason="smollm2-135m is not installed")
IDS = torch.randint(0, 97, (100,), generator=torch.Generator().manual_seed(3)).tolist()


class Spelled:
    """A tokenizer whose text is its ids."""

    def encode(self, text: str) -> list[int]:
        return [int(word) for word in text.split()]


TEXT = " ".join(map(str, IDS))


@pytest.fixture(scope="module")
def theirs() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=97,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=64,
        max_position_embeddings=256,
        initializer_range=0.3,  # sharp enough that a wrong context shows
    )
    return LlamaForCausalLM(config).eval()


@pytest.fixture(scope="module")
def ours(theirs: LlamaForCausalLM, tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    folder = tmp_path_factory.mktemp("model")
    theirs.save_pretrained(folder)
    config = read_config(folder, "random")
    return build(config, to_state(read_safetensors(folder), config, torch.float32))


def test_one_window_equals_transformers_loss(theirs: LlamaForCausalLM, ours: Transformer) -> None:
    tokens = torch.tensor([IDS])
    with torch.no_grad():
        loss = theirs(tokens, labels=tokens).loss.item()
    result = perplexity(ours, Spelled(), TEXT, window=len(IDS))
    assert result.value == pytest.approx(math.exp(loss), rel=1e-4)
    assert result.tokens == len(IDS) - 1


@pytest.mark.parametrize(("window", "stride"), [(32, 16), (32, 31), (20, 1), (99, 50), (7, 3)])
def test_windows_equal_the_masked_losses_of_transformers(
    theirs: LlamaForCausalLM, ours: Transformer, window: int, stride: int
) -> None:
    expected, scored = [], 1
    while scored < len(IDS):
        end = min(len(IDS), window if scored == 1 else scored + stride)
        part = torch.tensor([IDS[max(0, end - window) : end]])
        labels = part.clone()
        labels[:, : part.shape[1] - (end - scored)] = -100
        with torch.no_grad():
            expected.append(theirs(part, labels=labels).loss * (end - scored))
        scored = end
    losses = token_losses(ours, IDS, window, stride)
    assert len(losses) == len(IDS) - 1
    assert losses.sum().item() == pytest.approx(sum(expected).item(), rel=1e-5)


def test_more_context_changes_the_losses(ours: Transformer) -> None:
    assert not torch.allclose(token_losses(ours, IDS, 8), token_losses(ours, IDS, 100), atol=1e-2)


def test_a_model_that_knows_nothing_has_the_vocabulary_as_perplexity() -> None:
    config = ModelConfig("blank", 97, width=8, layers=1, heads=2, kv_heads=1, head_width=4, mlp_width=8)
    model = Transformer(config).requires_grad_(False)
    model.embedding.weight.zero_()
    result = perplexity(model, Spelled(), TEXT, window=16)
    assert result.value == pytest.approx(97, rel=1e-5)
    assert result.interval == pytest.approx((97, 97), rel=1e-4)


def test_the_interval_holds_the_mean_as_often_as_it_says() -> None:
    # Losses whose neighbors resemble each other (AR(1), 0.8): the true mean, 0, must lie inside about 95% of
    # the intervals; with single tokens for blocks it would be under 60%.
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(400, 2048, generator=generator)
    series = torch.zeros_like(noise)
    for t in range(1, noise.shape[1]):
        series[:, t] = 0.8 * series[:, t - 1] + noise[:, t]
    inside = [abs(mean) <= 1.96 * error for mean, error in map(_mean_and_error, series)]
    assert 0.90 < sum(inside) / len(inside) < 0.98


def test_the_error_shrinks_with_the_text() -> None:
    losses = torch.randn(6400, generator=torch.Generator().manual_seed(1))
    assert _mean_and_error(losses)[1] == pytest.approx(_mean_and_error(losses[:1600])[1] / 2, rel=0.5)


def test_wrong_requests_are_named(ours: Transformer) -> None:
    for stride in (0, 16, -1):
        with pytest.raises(ValueError, match="from 1 to window - 1 = 15"):
            token_losses(ours, IDS, window=16, stride=stride)
    with pytest.raises(ValueError, match="2 tokens"):
        perplexity(ours, Spelled(), "1 2")
    with pytest.raises(CapacityExceeded):
        token_losses(ours, IDS * 4, window=300)


def card() -> dict:
    return json.loads((data_dir() / "evaluation" / "card.json").read_text(encoding="utf-8"))


def test_the_text_is_as_long_as_its_card_says() -> None:
    assert len(evaluation_text().split()) == card()["words"]
    assert evaluation_text().isascii()


@needs_smollm2
def test_the_cards_tokens_and_perplexity() -> None:
    model, tokenizer = load("smollm2-135m", dtype=torch.float32)
    assert len(tokenizer.encode(evaluation_text())) == card()["tokens"]
    kept = card()["perplexity"]
    result = perplexity(model, tokenizer, evaluation_text(), kept["window"], kept["stride"])
    assert result.value == pytest.approx(kept["value"], rel=2e-3)
    assert result.interval == pytest.approx(kept["interval_95"], rel=2e-3)
    assert result.tokens == card()["tokens"] - 1


def test_the_text_ships_beside_its_card(root: Path) -> None:
    assert (root / "data" / "evaluation" / card()["file"]).is_file()
