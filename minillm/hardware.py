"""Machines and models as numbers, each with its source and date. No torch: it loads anywhere, at once.

The roofline (Williams, Waterman and Patterson, CACM 2009): a computation that does `intensity` FLOPs per byte
it reads runs at min(peak, intensity x bandwidth). The corner, peak / bandwidth, is the ridge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import yaml

from minillm.errors import MinillmError
from minillm.models.config import ModelConfig
from minillm.paths import data_dir


class UnknownHardware(MinillmError):
    """No such machine in data/hardware.yaml, or no such figure for it."""


class UnknownModel(MinillmError):
    """No such model in data/models.yaml."""


class HasRoofline(Protocol):
    """What a roofline needs to know of a machine."""

    @property
    def name(self) -> str: ...

    @property
    def read_bandwidth(self) -> float: ...

    @property
    def matmul(self) -> Mapping[str, float]: ...


class Roofline:
    """Bounds of any machine with a `read_bandwidth` (bytes/s) and a `matmul` (FLOP/s by dtype name)."""

    def peak(self: HasRoofline, dtype: str = "bfloat16") -> float:
        """FLOP/s of matrix products in `dtype`, a name such as "bfloat16". Raises UnknownHardware."""
        if dtype not in self.matmul:
            known = ", ".join(self.matmul) or "none"
            raise UnknownHardware(f"{self.name}: no matrix rate for {dtype!r}; known here: {known}.")
        return self.matmul[dtype]

    def ridge(self, dtype: str = "bfloat16") -> float:
        """FLOP/byte above which products, not memory, are the limit. Raises UnknownHardware.

        >>> round(gpu("h100-sxm").ridge("bfloat16"))
        295
        """
        return self.peak(dtype) / self.read_bandwidth

    def roofline(self, intensity: float, dtype: str = "bfloat16") -> float:
        """FLOP/s attainable at `intensity` FLOP/byte: the lower of the two roofs. Raises UnknownHardware."""
        return min(self.peak(dtype), intensity * self.read_bandwidth)

    def decode_ceiling(self, bytes_per_step: float) -> float:
        """Steps per second if a step does nothing but read `bytes_per_step`: weights plus keys and values.

        With one request a step is a token, so this is the most tokens per second a user can see.
        """
        if bytes_per_step <= 0:
            raise ValueError(f"a decode step reads its weights, so some bytes; got {bytes_per_step}.")
        return self.read_bandwidth / bytes_per_step


@dataclass(frozen=True)
class GPU(Roofline):
    """One accelerator's data sheet: memory in bytes, read_bandwidth in bytes/s, matmul in FLOP/s."""

    id: str
    name: str
    memory: float
    read_bandwidth: float
    matmul: Mapping[str, float]
    source: str
    date: str


@dataclass(frozen=True)
class PublishedModel:
    """A model's configuration, with the file it was read from and the month of its release."""

    id: str
    config: ModelConfig
    source: str
    date: str


@cache
def gpus() -> dict[str, GPU]:
    """Every accelerator of data/hardware.yaml by its id."""
    return {key: _gpu(key, row) for key, row in _read("hardware.yaml").items()}


def gpu(id: str) -> GPU:
    """One accelerator, such as gpu("h100-sxm"). Raises UnknownHardware, which lists the ids there are."""
    if id not in gpus():
        raise UnknownHardware(f"no accelerator {id!r} in data/hardware.yaml; there are {', '.join(gpus())}.")
    return gpus()[id]


@cache
def published_models() -> dict[str, PublishedModel]:
    """Every model of data/models.yaml by its id."""
    return {
        key: PublishedModel(key, ModelConfig.from_hf(row["config"], key), row["source"], str(row["date"]))
        for key, row in _read("models.yaml").items()
    }


def model_config(id: str) -> ModelConfig:
    """One published model's shape. Raises UnknownModel, which lists the ids there are.

    >>> model_config("llama-3-8b").kv_bytes_per_token(2) / 1024
    128.0
    """
    if id not in published_models():
        raise UnknownModel(f"no model {id!r} in data/models.yaml; there are {', '.join(published_models())}.")
    return published_models()[id].config


def _gpu(id: str, row: Mapping[str, Any]) -> GPU:
    rates = {dtype: tflops * 1e12 for dtype, tflops in row["dense_tflops"].items()}
    return GPU(
        id=id,
        name=row["name"],
        memory=row["memory_gb"] * 1e9,
        read_bandwidth=row["bandwidth_gb_s"] * 1e9,
        matmul=rates,
        source=row["source"],
        date=str(row["date"]),
    )


def _read(name: str) -> dict[str, Any]:
    return yaml.safe_load((data_dir() / name).read_text(encoding="utf-8"))
