"""Small random checkpoints of each family, written by transformers, which is the oracle."""

from __future__ import annotations

from pathlib import Path

import torch
import transformers
from transformers import PreTrainedModel

COMMON = {
    "vocab_size": 199,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
FAMILIES = {
    "llama": ("Llama", {"tie_word_embeddings": False}),
    "llama-tied": ("Llama", {"tie_word_embeddings": True}),
    "llama3-rope": ("Llama", {"rope_theta": 5000.0, "llama3": True}),
    "qwen2": ("Qwen2", {"tie_word_embeddings": True}),
    "qwen3": ("Qwen3", {"head_dim": 16, "tie_word_embeddings": False}),
    "mistral": ("Mistral", {"sliding_window": 8}),
    "mistral-full": ("Mistral", {"sliding_window": None}),
}


def oracle(family: str, seed: int = 0) -> PreTrainedModel:
    """A random float32 model of `family` with the fused kernels of transformers off."""
    kind, extra = FAMILIES[family]
    extra = dict(extra)
    if extra.pop("llama3", False):
        rope = {**LLAMA3_ROPE, "rope_theta": extra["rope_theta"]}
        key = "rope_parameters" if transformers.__version__.startswith("5") else "rope_scaling"
        extra[key] = rope
    torch.manual_seed(seed)
    config = getattr(transformers, f"{kind}Config")(**COMMON, **extra, attn_implementation="eager")
    model = getattr(transformers, f"{kind}ForCausalLM")(config).float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            # Biases and norms start at 0 and 1, where a forgotten one would not show.
            noise = torch.randn_like(parameter)
            parameter.copy_(
                noise * 0.2 if parameter.ndim == 2 else 1 + 0.3 * noise if "norm" in name else 0.3 * noise
            )
    return model


def save(model: PreTrainedModel, folder: Path) -> Path:
    """A checkpoint folder with a tokenizer beside it, so that `load` takes it."""
    from tokenizers import Tokenizer, models

    model.save_pretrained(folder, safe_serialization=True)
    vocabulary = {f"t{i}": i for i in range(model.config.vocab_size)}
    Tokenizer(models.WordLevel(vocabulary, unk_token="t0")).save(str(folder / "tokenizer.json"))
    return folder
