"""How long one prefill and one decode step take here: what a cost model is held against.

Both give the best of several runs after a warm-up. Whatever else the machine does can only make a run longer,
so the shortest is nearest to what the step itself costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor

from minillm.cache import ContiguousCache
from minillm.decoding.generate import last_logits
from minillm.models.config import ModelConfig
from minillm.models.transformer import Transformer
from minillm.models.weights import lay_out_for_streaming

# 39 million weights: 157 MB in float32, more than most CPUs' caches hold, and quick enough to time often.
SMALL = ModelConfig(
    "random-39m", vocab_size=2048, width=768, layers=6, heads=12, kv_heads=4, head_width=64, mlp_width=2048
)


def random_model(config: ModelConfig = SMALL, seed: int = 0) -> Transformer:
    """A float32 model on the CPU with random weights: its text is noise, its speed that of a trained one."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Transformer(config).requires_grad_(False).eval()
    lay_out_for_streaming(model)
    return model


@torch.inference_mode()
def prefill_seconds(model: Transformer, batch: int, length: int, repeats: int = 4) -> float:
    """Seconds from `batch` prompts of `length` tokens to the logits of each one's next token."""
    tokens = _tokens(model, batch, length)
    cache = _cache(model, batch, length)

    def step() -> Tensor:
        cache.truncate(0)
        return last_logits(model, tokens, [length] * batch, cache)

    return best_seconds(step, repeats)


@torch.inference_mode()
def decode_seconds(model: Transformer, batch: int, context: int, repeats: int = 8) -> float:
    """Seconds of one decode step: a new token for each of `batch` rows that hold `context` tokens already."""
    cache = _cache(model, batch, context + 1)
    last_logits(model, _tokens(model, batch, context), [context] * batch, cache)
    tokens = _tokens(model, batch, 1)

    def step() -> Tensor:
        cache.truncate(context)  # every run starts from the same context
        return last_logits(model, tokens, [1] * batch, cache)

    return best_seconds(step, repeats)


def best_seconds(step: Callable[[], Tensor], repeats: int) -> float:
    """The shortest of `repeats` timed runs, after one that warms up. Raises ValueError for no run at all."""
    if repeats < 1:
        raise ValueError(f"repeats is {repeats}; at least one run must be timed.")
    float(step().flatten()[0])
    runs = []
    for _ in range(repeats):
        started = time.perf_counter()
        float(step().flatten()[0])  # a GPU answers before it has finished: reading a value waits for it
        runs.append(time.perf_counter() - started)
    return min(runs)


def _tokens(model: Transformer, batch: int, length: int) -> Tensor:
    """int64 [B, S]; which tokens they are does not matter for the time."""
    spread = torch.arange(batch * length, device=model.device) % model.config.vocab_size
    return spread.view(batch, length)


def _cache(model: Transformer, batch: int, capacity: int) -> ContiguousCache:
    return ContiguousCache(model.config, batch, capacity, model.dtype, model.device)
