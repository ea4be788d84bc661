"""Perplexity of a model on a text, with the uncertainty that so few tokens leave."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from minillm.models.tokenizer import Tokenizer
from minillm.models.transformer import Transformer
from minillm.paths import data_dir

BLOCK = 64  # tokens whose losses are averaged before their spread is taken


class Perplexity(NamedTuple):
    """exp of the mean loss. interval: 95%, low and high. tokens: how many were scored."""

    value: float
    interval: tuple[float, float]
    tokens: int


def evaluation_text() -> str:
    """The prose of data/evaluation, written for this project: no model here was trained or tuned on it."""
    return (data_dir() / "evaluation" / "prose.txt").read_text(encoding="utf-8")


def perplexity(
    model: Transformer, tokenizer: Tokenizer, text: str, window: int = 512, stride: int | None = None
) -> Perplexity:
    """Perplexity of `text`, every token but the first scored once. See `token_losses` for window and stride.

    The interval is that of one text: two models on the same text are compared more sharply by the mean of
    the differences of their `token_losses`. Raises ValueError for a text under three tokens.
    """
    ids = tokenizer.encode(text)
    if len(ids) < 3:
        raise ValueError(
            f"the text has {len(ids)} tokens; perplexity needs three at least, better thousands."
        )
    losses = token_losses(model, ids, window, stride)
    mean, error = _mean_and_error(losses)
    low, high = math.exp(mean - 1.96 * error), math.exp(mean + 1.96 * error)
    return Perplexity(math.exp(mean), (low, high), len(losses))


@torch.inference_mode()
def token_losses(model: Transformer, ids: list[int], window: int = 512, stride: int | None = None) -> Tensor:
    """-ln p of each token but the first, float32 [len(ids) - 1].

    The text is read in windows of `window` tokens, each moved on by `stride` (half a window if None) and
    scored on the tokens that are new in it: a token sees at least window - stride tokens before it, where
    there are so many. Raises ValueError unless 1 <= stride < window, CapacityExceeded where the window is
    longer than the model's positions.
    """
    stride = window // 2 if stride is None else stride
    if not 1 <= stride < window:
        raise ValueError(f"stride must lie from 1 to window - 1 = {window - 1}; got {stride}.")
    losses = []
    scored = 1  # tokens done; the first has nothing before it
    while scored < len(ids):
        # The first window is full of new tokens; each later one ends `stride` tokens further.
        end = min(len(ids), window if scored == 1 else scored + stride)
        start = max(0, end - window)
        tokens = torch.tensor([ids[start:end]], device=model.device)
        # The row at position t predicts token t + 1: rows scored - 1 .. end - 2 predict the new tokens.
        hidden = model.hidden(tokens)[0, scored - 1 - start : -1]
        targets = tokens[0, scored - start :]
        losses.append(F.cross_entropy(model.logits(hidden), targets, reduction="none").cpu())
        scored = end
    return torch.cat(losses)


def _mean_and_error(losses: Tensor) -> tuple[float, float]:
    """Mean loss and its standard error, from the spread of block means.

    Neighboring tokens are hard or easy together, so that single losses would understate the error. Short
    texts get shorter blocks, eight at least where there are eight tokens.
    """
    size = max(1, min(BLOCK, len(losses) // 8))
    blocks = losses[: len(losses) // size * size].double().view(-1, size).mean(dim=1)
    return losses.double().mean().item(), (blocks.std() / math.sqrt(len(blocks))).item()
