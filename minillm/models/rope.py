"""Rotary position embedding (RoFormer, 2104.09864), in the half-split layout that checkpoints use."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from minillm.models.config import ModelConfig, RopeScaling


def inverse_frequencies(config: ModelConfig) -> Tensor:
    """theta^(-2i/E) for i < E/2, float32 [E/2], Llama-3 scaling applied."""
    exponents = torch.arange(0, config.head_width, 2, dtype=torch.float32, device="cpu") / config.head_width
    frequencies = 1.0 / (config.rope_theta**exponents)
    if config.rope_scaling is None:
        return frequencies
    return _scale_llama3(frequencies, config.rope_scaling)


def _scale_llama3(frequencies: Tensor, scaling: RopeScaling) -> Tensor:
    wavelengths = 2 * math.pi / frequencies
    low = scaling.original_positions / scaling.low_freq_factor
    high = scaling.original_positions / scaling.high_freq_factor
    blend = (scaling.original_positions / wavelengths - scaling.low_freq_factor) / (
        scaling.high_freq_factor - scaling.low_freq_factor
    )
    blended = (1 - blend) * frequencies / scaling.factor + blend * frequencies
    scaled = torch.where(wavelengths > low, frequencies / scaling.factor, blended)
    return torch.where(wavelengths < high, frequencies, scaled)


def rotation(positions: Tensor, frequencies: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Cosines and signed sines for `positions` [B, S]; each [B, S, 1, E], computed in float32.

    The sine is negated in its first half, so that rotating needs one roll and no concatenation.
    """
    angles = positions[..., None].float() * frequencies  # [B, S, E/2]
    sin, cos = angles.sin(), angles.cos()
    cos = torch.cat((cos, cos), dim=-1)
    signed_sin = torch.cat((-sin, sin), dim=-1)
    return cos[:, :, None].to(dtype), signed_sin[:, :, None].to(dtype)


def rotate(heads: Tensor, cos: Tensor, signed_sin: Tensor) -> Tensor:
    """Rotate every (i, i + E/2) pair of `heads` [B, S, heads, E] by its position's angle."""
    swapped = heads.roll(heads.shape[-1] // 2, dims=-1)
    return torch.addcmul(heads * cos, swapped, signed_sin)
