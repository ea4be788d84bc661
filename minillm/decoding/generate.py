"""The generation loop: prefill the prompts once, then one token a row a step from the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from minillm.cache import ContiguousCache, KVCache
from minillm.decoding.sampling import GREEDY, Sampler, Sampling
from minillm.errors import CapacityExceeded
from minillm.models.transformer import Transformer


def generate(
    model: Transformer,
    prompts: Sequence[int] | Sequence[Sequence[int]],
    max_new_tokens: int,
    sampling: Sampling | Sequence[Sampling] = GREEDY,
    eos_ids: Sequence[int] | None = None,
) -> list[int] | list[list[int]]:
    """New tokens for one prompt (a list of ids) or several (a list of lists), the end token included if
    reached.

    sampling: one for all prompts, or one each. eos_ids: the model's own if None, `()` to run to the limit.
    Raises ValueError for an empty prompt, CapacityExceeded where prompt and new tokens pass the model's
    positions.
    """
    single = bool(prompts) and isinstance(prompts[0], int)
    rows: list[Sequence[int]] = [prompts] if single else list(prompts)  # type: ignore[list-item]
    samplings = [sampling] * len(rows) if isinstance(sampling, Sampling) else list(sampling)
    ends = set(model.config.eos_ids if eos_ids is None else eos_ids)
    finished: list[list[int]] = [[] for _ in rows]
    running = set(range(len(rows)))
    for step in decode_steps(model, rows, max_new_tokens, samplings):
        for row in sorted(running):
            finished[row].append(step[row])
            if step[row] in ends:
                running.discard(row)
        if not running:
            break
    return finished[0] if single else finished


@torch.inference_mode()
def decode_steps(
    model: Transformer,
    prompts: Sequence[Sequence[int]],
    max_new_tokens: int,
    samplings: Sequence[Sampling],
    cache: KVCache | None = None,
) -> Iterator[list[int]]:
    """The next token of every row, step by step, `max_new_tokens` times; the caller stops earlier by leaving.

    cache: an empty one with a row per prompt; a ContiguousCache of just the right size if None.
    """
    check_request(model, prompts, max_new_tokens, samplings)
    if max_new_tokens == 0:
        return
    lengths = [len(prompt) for prompt in prompts]
    if cache is None:
        # The last new token is never fed back, so it needs no slot.
        capacity = max(lengths) + max_new_tokens - 1
        cache = ContiguousCache(model.config, len(prompts), capacity, model.dtype, model.device)
    samplers = [Sampler(sampling) for sampling in samplings]
    logits = last_logits(model, pad(prompts).to(model.device), lengths, cache)
    for step in range(max_new_tokens):
        tokens = [sampler.pick(row) for sampler, row in zip(samplers, logits, strict=True)]
        yield tokens
        if step + 1 < max_new_tokens:
            hidden = model.hidden(torch.tensor(tokens, device=model.device)[:, None], cache)
            logits = model.logits(hidden[:, -1])


def last_logits(model: Transformer, tokens: Tensor, lengths: Sequence[int], cache: KVCache) -> Tensor:
    """Prefill `tokens` [B, S] into `cache`; logits [B, V] after each row's last valid token."""
    uniform = min(lengths) == tokens.shape[1]
    hidden = model.hidden(tokens, cache, None if uniform else lengths)
    last = torch.tensor(lengths, device=tokens.device) - 1
    return model.logits(hidden[torch.arange(len(lengths), device=tokens.device), last])


def pad(prompts: Sequence[Sequence[int]]) -> Tensor:
    """int64 [B, S], each prompt at the left, zeros to its right."""
    longest = max(len(prompt) for prompt in prompts)
    return torch.tensor([[*prompt, *[0] * (longest - len(prompt))] for prompt in prompts])


def check_request(
    model: Transformer, prompts: Sequence[Sequence[int]], max_new_tokens: int, samplings: Sequence[Sampling]
) -> None:
    """Raises ValueError or CapacityExceeded, naming the prompt, before any work is done."""
    if max_new_tokens < 0:
        raise ValueError(f"max_new_tokens is {max_new_tokens}; give 0 or more.")
    if not prompts or len(samplings) != len(prompts):
        raise ValueError(
            f"got {len(prompts)} prompts and {len(samplings)} samplings; give one sampling per prompt."
        )
    limit = model.config.max_positions
    for row, prompt in enumerate(prompts):
        if not prompt:
            raise ValueError(
                f"prompt {row} is empty; give at least one token (encode('') of some models is empty)."
            )
        if min(prompt) < 0 or max(prompt) >= model.config.vocab_size:
            raise ValueError(
                f"prompt {row} holds token ids from {min(prompt)} to {max(prompt)}, but this model knows "
                f"0 to "
                f"{model.config.vocab_size - 1}; use the tokenizer that load() returned with it."
            )
        if len(prompt) + max_new_tokens > limit:
            raise CapacityExceeded(
                f"prompt {row} has {len(prompt)} tokens and asks for {max_new_tokens} more, but "
                f"{model.config.name} "
                f"has {limit} positions; shorten one of the two."
            )
