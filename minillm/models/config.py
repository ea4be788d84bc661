"""What a Llama-family checkpoint says about itself. No torch: labs and capacity planning read it too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minillm.errors import UnsupportedModel

FAMILIES = ("llama", "mistral", "qwen2", "qwen3")


@dataclass(frozen=True)
class RopeScaling:
    """Llama-3's frequency scaling (source: Llama 3.1 reference code, `apply_scaling`).

    Wavelengths under `original_positions / high_freq_factor` stay, those over
    `original_positions / low_freq_factor` are divided by `factor`, those between are interpolated.
    """

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_positions: int


@dataclass(frozen=True)
class ModelConfig:
    """Shape of a decoder: L layers of width D, H query heads and K key/value heads of width E."""

    name: str
    vocab_size: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    mlp_width: int
    rope_theta: float = 10_000.0
    rope_scaling: RopeScaling | None = None
    norm_eps: float = 1e-5
    tied_embeddings: bool = True
    qkv_bias: bool = False
    qk_norm: bool = False
    sliding_window: int | None = None
    max_positions: int = 2048
    bos_id: int | None = None
    eos_ids: tuple[int, ...] = ()
    family: str = "llama"

    def __post_init__(self) -> None:
        if self.heads % self.kv_heads:
            raise UnsupportedModel(
                f"{self.name}: {self.heads} query heads cannot share {self.kv_heads} KV heads evenly; "
                "use a number of KV heads that divides the query heads."
            )
        if self.head_width % 2:
            raise UnsupportedModel(
                f"{self.name}: head width {self.head_width} is odd, but RoPE rotates pairs; use an even one."
            )

    def kv_bytes_per_token(self, bytes_per_value: float) -> float:
        """Bytes one token occupies in the cache: 2 (K and V) x layers x KV heads x head width x bytes."""
        return 2 * self.layers * self.kv_heads * self.head_width * bytes_per_value

    def parameters(self) -> int:
        """Number of weights, tied embeddings counted once."""
        qkv_rows = (self.heads + 2 * self.kv_heads) * self.head_width
        attention = qkv_rows * self.width + self.heads * self.head_width * self.width
        attention += qkv_rows if self.qkv_bias else 0
        attention += 2 * self.head_width if self.qk_norm else 0
        layer = attention + 3 * self.width * self.mlp_width + 2 * self.width
        embeddings = self.vocab_size * self.width * (1 if self.tied_embeddings else 2)
        return embeddings + self.layers * layer + self.width

    @classmethod
    def from_hf(cls, raw: Mapping[str, Any], name: str = "model") -> ModelConfig:
        """Read a `config.json` of transformers 4 or 5.

        Raises UnsupportedModel for an unknown family, activation, attention or rope variant.
        """
        family = raw.get("model_type")
        if family not in FAMILIES:
            raise UnsupportedModel(
                f"{name}: model_type is {family!r}, but minillm runs {', '.join(FAMILIES)}. Choose a "
                f"model of one of these families."
            )
        activation = raw.get("hidden_act", "silu")
        if activation != "silu":
            raise UnsupportedModel(
                f"{name}: hidden_act is {activation!r}; only 'silu' (SwiGLU) is implemented."
            )
        if raw.get("mlp_bias") or (family in ("llama", "mistral") and raw.get("attention_bias")):
            raise UnsupportedModel(f"{name}: biases in the MLP or in Llama attention are not implemented.")
        if family == "qwen3" and raw.get("attention_bias"):
            raise UnsupportedModel(f"{name}: attention_bias in Qwen3 is not implemented.")
        heads = raw["num_attention_heads"]
        theta, scaling = _read_rope(raw, name)
        eos = raw.get("eos_token_id")
        return cls(
            name=name,
            family=family,
            vocab_size=raw["vocab_size"],
            width=raw["hidden_size"],
            layers=raw["num_hidden_layers"],
            heads=heads,
            kv_heads=raw.get("num_key_value_heads") or heads,
            head_width=raw.get("head_dim") or raw["hidden_size"] // heads,
            mlp_width=raw["intermediate_size"],
            rope_theta=theta,
            rope_scaling=scaling,
            norm_eps=raw.get("rms_norm_eps", 1e-6),
            tied_embeddings=bool(raw.get("tie_word_embeddings", False)),
            qkv_bias=family == "qwen2",
            qk_norm=family == "qwen3",
            sliding_window=_read_window(raw, family, name),
            max_positions=raw.get("max_position_embeddings", 2048),
            bos_id=raw.get("bos_token_id"),
            eos_ids=tuple(eos) if isinstance(eos, list) else (() if eos is None else (eos,)),
        )

    def to_hf(self) -> dict[str, Any]:
        """A `config.json` that transformers 4 and 5 both read (rope_theta at the top and in
        rope_parameters)."""
        rope: dict[str, Any] = {"rope_type": "default", "rope_theta": self.rope_theta}
        if self.rope_scaling is not None:
            rope = {
                "rope_type": "llama3",
                "rope_theta": self.rope_theta,
                "factor": self.rope_scaling.factor,
                "low_freq_factor": self.rope_scaling.low_freq_factor,
                "high_freq_factor": self.rope_scaling.high_freq_factor,
                "original_max_position_embeddings": self.rope_scaling.original_positions,
            }
        raw = {
            "architectures": [f"{self.family.capitalize()}ForCausalLM"],
            "model_type": self.family,
            "vocab_size": self.vocab_size,
            "hidden_size": self.width,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_width,
            "intermediate_size": self.mlp_width,
            "hidden_act": "silu",
            "rms_norm_eps": self.norm_eps,
            "tie_word_embeddings": self.tied_embeddings,
            "max_position_embeddings": self.max_positions,
            "rope_theta": self.rope_theta,
            "rope_parameters": rope,
            "bos_token_id": self.bos_id,
            "eos_token_id": list(self.eos_ids) if len(self.eos_ids) > 1 else next(iter(self.eos_ids), None),
        }
        if self.rope_scaling is not None:
            raw["rope_scaling"] = rope
        if self.family in ("mistral", "qwen2", "qwen3"):
            raw["sliding_window"] = self.sliding_window
        return raw


def _read_rope(raw: Mapping[str, Any], name: str) -> tuple[float, RopeScaling | None]:
    """RoPE's base and scaling: transformers 5 keeps both in `rope_parameters`, 4 in two fields."""
    rope = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    theta = float(rope.get("rope_theta") or raw.get("rope_theta") or 10_000.0)
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind == "default":
        return theta, None
    if kind != "llama3":
        raise UnsupportedModel(
            f"{name}: rope scaling {kind!r} is not implemented; 'default' and 'llama3' are."
        )
    return theta, RopeScaling(
        factor=rope["factor"],
        low_freq_factor=rope["low_freq_factor"],
        high_freq_factor=rope["high_freq_factor"],
        original_positions=rope["original_max_position_embeddings"],
    )


def _read_window(raw: Mapping[str, Any], family: str, name: str) -> int | None:
    """The sliding window of every layer, or None. Qwen keeps a window in its config that it does not use."""
    if family == "llama":
        return None
    window = raw.get("sliding_window")
    if family == "mistral":
        return window
    kinds = set(raw.get("layer_types") or [])
    if window is None or not raw.get("use_sliding_window", False) or kinds == {"full_attention"}:
        return None
    if kinds == {"sliding_attention"}:
        return window
    raise UnsupportedModel(f"{name}: layers that mix full and sliding attention are not implemented.")
