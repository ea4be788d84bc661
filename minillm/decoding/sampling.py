"""From one row of logits to one token: greedy, or drawn after temperature, top-k, top-p and min-p."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Sampling:
    """How one request's tokens are chosen. temperature 0 is greedy; the filters apply in the order listed.

    top_k: keep the k most likely tokens. top_p: keep the fewest tokens whose probabilities reach p.
    min_p: keep tokens at least min_p times as likely as the likeliest. seed: the same seed gives the same
    tokens, whatever else is in the batch; None draws a fresh one.
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if self.temperature < 0:
            raise ValueError(f"temperature is {self.temperature}; give 0 for greedy or a positive number.")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k is {self.top_k}; give at least 1, or None to keep every token.")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"top_p is {self.top_p}; give a probability in (0, 1], or None.")
        if self.min_p is not None and not 0 <= self.min_p <= 1:
            raise ValueError(f"min_p is {self.min_p}; give a share in [0, 1], or None.")


GREEDY = Sampling()


def filtered_logits(logits: Tensor, sampling: Sampling) -> Tensor:
    """float32 [V] after temperature and filters, -inf where a token is out. Order as in transformers."""
    logits = logits.float() / sampling.temperature
    if sampling.top_k is not None and sampling.top_k < logits.numel():
        logits = logits.masked_fill(logits < logits.topk(sampling.top_k).values[-1], -torch.inf)
    if sampling.top_p is not None and sampling.top_p < 1:
        ordered, index = logits.sort()
        # From the least likely up: out while what lies below still sums to 1 - p. The likeliest always stays.
        out = ordered.softmax(-1).cumsum(-1) <= 1 - sampling.top_p
        out[-1] = False
        logits = logits.masked_fill(torch.zeros_like(out).scatter(0, index, out), -torch.inf)
    if sampling.min_p is not None:
        probabilities = logits.softmax(-1)
        logits = logits.masked_fill(probabilities < sampling.min_p * probabilities.max(), -torch.inf)
    return logits


class Sampler:
    """One request's choice of tokens, with its own random stream (on the CPU, so that devices agree)."""

    def __init__(self, sampling: Sampling) -> None:
        self.sampling = sampling
        self.random = torch.Generator()
        if sampling.seed is None:
            self.random.seed()
        else:
            self.random.manual_seed(sampling.seed)

    def pick(self, logits: Tensor) -> int:
        """The next token of `logits` [V]."""
        if self.sampling.temperature == 0:
            return int(logits.argmax())
        probabilities = filtered_logits(logits.cpu(), self.sampling).softmax(-1)
        return int(torch.multinomial(probabilities, 1, generator=self.random))
