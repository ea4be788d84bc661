"""Figures behind lab 01's claims."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from minillm.hardware import model_config

if TYPE_CHECKING:
    from minillm.models.transformer import Transformer

_CONTEXT = 256


def kv_kib_llama2_7b() -> float:
    """KiB that one token of Llama-2-7B takes in bf16."""
    return model_config("llama-2-7b").kv_bytes_per_token(2) / 1024


def attention_growth() -> float:
    """How many times more attention FLOPs writing 2n tokens takes than writing n, with a cache, n = 1,000."""

    def attention(tokens: int) -> int:
        return sum(4 * context for context in range(1, tokens + 1))  # per unit of width

    return attention(2000) / attention(1000)


def equal_flops_context() -> float:
    """Context at which attention's 4td FLOPs equal the linear layers' 24d², d = 4096."""
    width = 4096
    return 24 * width**2 / (4 * width)


def equal_memory_context() -> float:
    """Tokens whose cache weighs as much as the weights of Llama-3-8B, both in bf16."""
    config = model_config("llama-3-8b")
    return 2 * config.parameters() / config.kv_bytes_per_token(2)


def gqa_saving() -> float:
    """KV bytes of Llama-3-8B with a KV head per query head, over its real ones."""
    config = model_config("llama-3-8b")
    return config.heads / config.kv_heads


def step_speedup() -> float:
    """Time of a step over 256 tokens, without over with a cache, for a model of tiny's shape."""
    import torch

    from minillm.cache import ContiguousCache

    model = _small_model()
    tokens = torch.zeros(1, _CONTEXT, dtype=torch.long)
    cache = ContiguousCache(model.config, 1, _CONTEXT)
    with torch.inference_mode():
        model.hidden(tokens[:, :-1], cache)

        def cached() -> None:
            model.hidden(tokens[:, -1:], cache)
            cache.truncate(_CONTEXT - 1)

        return _seconds(lambda: model.hidden(tokens)) / _seconds(cached)


def first_token_speedup() -> float:
    """Time to run a prompt of 256 tokens, without over with a cache, for a model of tiny's shape."""
    import torch

    from minillm.cache import ContiguousCache

    model = _small_model()
    tokens = torch.zeros(1, _CONTEXT, dtype=torch.long)
    with torch.inference_mode():
        plain = _seconds(lambda: model.hidden(tokens))
        return plain / _seconds(lambda: model.hidden(tokens, ContiguousCache(model.config, 1, _CONTEXT)))


def logits_difference() -> float:
    """Largest difference of logits, token by token through a cache against all at once, float32."""
    import torch

    from minillm.cache import ContiguousCache

    model = _small_model()
    tokens = torch.randint(model.config.vocab_size, (1, 64), generator=torch.Generator().manual_seed(0))
    cache = ContiguousCache(model.config, 1, 64)
    with torch.inference_mode():
        stepwise = torch.cat([model(token[None], cache) for token in tokens[0].split(1)], dim=1)
        return (stepwise - model(tokens)).abs().max().item()


def _small_model() -> Transformer:
    """A model of tiny's shape with random weights: time and rounding do not ask what it learned."""
    import torch

    from minillm.models.config import ModelConfig
    from minillm.models.transformer import Transformer

    config = ModelConfig(
        name="random",
        vocab_size=576,
        width=192,
        layers=6,
        heads=6,
        kv_heads=2,
        head_width=32,
        mlp_width=384,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Transformer(config)
        torch.nn.init.normal_(model.embedding.weight, std=0.05)
    return model.requires_grad_(False).eval()


def _seconds(run: Callable[[], object], times: int = 5) -> float:
    """Time of the fastest of a few calls: whatever else runs can only slow one down."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)
