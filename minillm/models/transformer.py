"""A Llama-family decoder. Symbols: B batch, S new tokens, T tokens in the cache, D width, H query heads,
K KV heads, E head width, V vocabulary."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from minillm.cache.contract import KVCache
from minillm.errors import CapacityExceeded
from minillm.models.config import ModelConfig
from minillm.models.masks import AttentionMask, causal_mask
from minillm.models.rope import inverse_frequencies, rotate, rotation


class RMSNorm(nn.Module):
    """x / rms(x) * weight, over the last axis; the mean square in float32.

    `F.rms_norm` on a CPU is a chain of small kernels that costs a decode step twice as much as this one.
    """

    epsilon: Tensor

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.register_buffer("epsilon", torch.full((1,), eps, device="cpu"), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32)
        inverse_rms = torch.addcmul(self.epsilon, norm, norm, value=1 / x.shape[-1]).rsqrt()
        return (x * inverse_rms).to(x.dtype) * self.weight


class Attention(nn.Module):
    """Grouped-query attention: H query heads share K key/value heads. One product makes q, k and v."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.head_width = config.heads, config.kv_heads, config.head_width
        rows = (config.heads + 2 * config.kv_heads) * config.head_width
        self.qkv = nn.Linear(config.width, rows, bias=config.qkv_bias)
        self.out = nn.Linear(config.heads * config.head_width, config.width, bias=False)
        self.q_norm = RMSNorm(config.head_width, config.norm_eps) if config.qk_norm else None
        self.k_norm = RMSNorm(config.head_width, config.norm_eps) if config.qk_norm else None

    def forward(
        self, x: Tensor, angles: tuple[Tensor, Tensor], mask: AttentionMask, cache: KVCache | None, layer: int
    ) -> Tensor:
        B, S, _ = x.shape
        heads = self.qkv(x).view(B, S, -1, self.head_width)  # [B, S, H + 2K, E]
        q, k = self._rotated(heads[:, :, : self.heads + self.kv_heads], angles)
        v = heads[:, :, -self.kv_heads :].transpose(1, 2)  # [B, K, S, E]
        if cache is not None:
            k, v = cache.update(layer, k, v)  # [B, K, T, E]
        return self.out(self._attend(q, k, v, mask))

    def _rotated(self, heads: Tensor, angles: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Queries [B, H, S, E] and keys [B, K, S, E] from [B, S, H + K, E]."""
        if self.q_norm is not None and self.k_norm is not None:
            heads = torch.cat(
                (self.q_norm(heads[:, :, : self.heads]), self.k_norm(heads[:, :, self.heads :])), dim=2
            )
        heads = rotate(heads, *angles).transpose(1, 2)
        return heads[:, : self.heads], heads[:, self.heads :]

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: AttentionMask) -> Tensor:
        B, H, S, E = q.shape
        if S == 1 and mask.allowed is None:
            # One query per head: the H/K heads of a group are so many queries on one key head, so no copy
            # of K or V.
            grouped = q.reshape(B, self.kv_heads, H // self.kv_heads, E)
            return F.scaled_dot_product_attention(grouped, k, v).reshape(B, 1, H * E)
        attended = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask.allowed, is_causal=mask.is_causal, enable_gqa=self.kv_heads != H
        )
        return attended.transpose(1, 2).reshape(B, S, H * E)


class MLP(nn.Module):
    """SwiGLU: down(silu(gate x) * up x); one product makes gate and up."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gate_up = nn.Linear(config.width, 2 * config.mlp_width, bias=False)
        self.down = nn.Linear(config.mlp_width, config.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * up)


class Layer(nn.Module):
    """Attention, then the MLP, each on a normalized copy and added back."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.width, config.norm_eps)
        self.attention = Attention(config)
        self.mlp_norm = RMSNorm(config.width, config.norm_eps)
        self.mlp = MLP(config)

    def forward(
        self, x: Tensor, angles: tuple[Tensor, Tensor], mask: AttentionMask, cache: KVCache | None, layer: int
    ) -> Tensor:
        x = x + self.attention(self.attention_norm(x), angles, mask, cache, layer)
        return x + self.mlp(self.mlp_norm(x))


class Transformer(nn.Module):
    """Tokens to logits, with or without a cache that it is given."""

    inverse_frequencies: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.width)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.width, config.norm_eps)
        self.unembedding = nn.Linear(config.width, config.vocab_size, bias=False)
        if config.tied_embeddings:
            self.unembedding.weight = self.embedding.weight
        self.register_buffer("inverse_frequencies", inverse_frequencies(config), persistent=False)

    @property
    def dtype(self) -> torch.dtype:
        return self.norm.weight.dtype

    @property
    def device(self) -> torch.device:
        return self.norm.weight.device

    def forward(
        self, tokens: Tensor, cache: KVCache | None = None, lengths: Sequence[int] | None = None
    ) -> Tensor:
        """Logits, float32 [B, S, V], of `tokens` [B, S]. See `hidden` for cache, lengths and errors."""
        return self.logits(self.hidden(tokens, cache, lengths))

    def hidden(
        self, tokens: Tensor, cache: KVCache | None = None, lengths: Sequence[int] | None = None
    ) -> Tensor:
        """The last layer's normalized output, [B, S, D].

        tokens: [B, S], right padded where rows differ; lengths: each row's valid tokens (all S if None).
        With a cache, row b continues at position `cache.lengths[b]`, and the cache grows by `lengths`.
        Without one, `lengths` changes nothing: padding lies after every valid token, which never looks ahead.
        Raises CapacityExceeded, before anything is written, when the tokens fit neither cache nor model.
        """
        B, S = tokens.shape
        if cache is None:
            positions = torch.arange(S, device=tokens.device).expand(B, S)
        else:
            positions = cache.reserve(S, lengths)
        self._check_positions(S if cache is None else cache.reserved_length)
        mask = causal_mask(positions, cache, self.config.sliding_window)
        angles = rotation(positions, self.inverse_frequencies, self.dtype)
        x = self.embedding(tokens)  # [B, S, D]
        for index, layer in enumerate(self.layers):
            x = layer(x, angles, mask, cache, index)
        if cache is not None:
            cache.commit()
        return self.norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """float32 [..., V] of `hidden` [..., D]; call it on the last rows alone where only they are
        needed."""
        return self.unembedding(hidden).float()

    def _check_positions(self, length: int) -> None:
        if length > self.config.max_positions:
            raise CapacityExceeded(
                f"{self.config.name} was trained for {self.config.max_positions} positions, but {length} "
                f"tokens "
                "would be in its context; shorten the prompt or generate fewer tokens."
            )
