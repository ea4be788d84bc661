"""A llama.cpp GGUF file, turned once into a safetensors folder (source: the GGUF specification, v3).

Its weights were rounded to blocks of a few bits; they come out as float32 on that same grid.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, decoders, pre_tokenizers
from tokenizers import Tokenizer as FastTokenizer
from tokenizers import models as tokenizer_models

from minillm.errors import ModelNotFound, UnsupportedModel

TENSORS = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
GLOBAL_TENSORS = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
CONTROL_TOKEN = 3  # llama.cpp's token type of <|im_start|> and its like


def convert(gguf: Path, folder: Path) -> None:
    """Write config.json, tokenizer.json and model.safetensors of `gguf` to `folder`.

    The folder appears whole or not at all. Raises ModelNotFound without the `gguf` package,
    UnsupportedModel for
    another architecture or tokenizer than Llama's with byte-level BPE.
    """
    try:
        from gguf import GGUFReader
    except ImportError:
        raise ModelNotFound(f"{gguf.name} needs the gguf package: pip install gguf.") from None
    reader = GGUFReader(gguf)
    facts = {name: field.contents() for name, field in reader.fields.items()}
    if facts["general.architecture"] != "llama":
        raise UnsupportedModel(
            f"{gguf.name} holds a {facts['general.architecture']!r} model; only 'llama' is read."
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".converting-") as scratch:
        written = Path(scratch) / folder.name
        written.mkdir()
        tensors = _read_tensors(reader, facts)
        config = _config(facts, tied="lm_head.weight" not in tensors)
        (written / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
        _tokenizer(facts, gguf.name).save(str(written / "tokenizer.json"))
        save_file(tensors, written / "model.safetensors", metadata={"format": "pt"})
        _publish(written, folder)


def _publish(written: Path, folder: Path) -> None:
    """Move the finished folder into place; another process that was faster has written the same."""
    try:
        written.replace(folder)
    except OSError:
        if not (folder / "config.json").is_file():
            raise


def _config(facts: dict[str, Any], tied: bool) -> dict[str, Any]:
    heads, width = facts["llama.attention.head_count"], facts["llama.embedding_length"]
    eos = facts.get("tokenizer.ggml.eos_token_id")
    theta = facts.get("llama.rope.freq_base", 10_000.0)
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(facts["tokenizer.ggml.tokens"]),
        "hidden_size": width,
        "num_hidden_layers": facts["llama.block_count"],
        "num_attention_heads": heads,
        "num_key_value_heads": facts.get("llama.attention.head_count_kv", heads),
        "head_dim": facts.get("llama.rope.dimension_count", width // heads),
        "intermediate_size": facts["llama.feed_forward_length"],
        "hidden_act": "silu",
        "rms_norm_eps": facts["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": theta,
        "rope_parameters": {"rope_type": "default", "rope_theta": theta},
        "max_position_embeddings": facts["llama.context_length"],
        "tie_word_embeddings": tied,
        "bos_token_id": facts.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": eos,
    }


def _read_tensors(reader: Any, facts: dict[str, Any]) -> dict[str, torch.Tensor]:
    from gguf.quants import dequantize

    heads = facts["llama.attention.head_count"]
    kv_heads = facts.get("llama.attention.head_count_kv", heads)
    tensors = {}
    for tensor in reader.tensors:
        values = torch.from_numpy(np.array(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32))
        if tensor.name in GLOBAL_TENSORS:
            tensors[GLOBAL_TENSORS[tensor.name]] = values
            continue
        _, index, kind, suffix = tensor.name.split(".")
        if kind in ("attn_q", "attn_k"):
            values = _half_split(values, heads if kind == "attn_q" else kv_heads)
        tensors[f"model.layers.{index}.{TENSORS[kind]}.{suffix}"] = values.contiguous()
    return tensors


def _half_split(rows: torch.Tensor, heads: int) -> torch.Tensor:
    """llama.cpp stores a head's rotated pairs side by side; checkpoints store first halves, then second
    halves."""
    head_width = rows.shape[0] // heads
    return rows.view(heads, head_width // 2, 2, -1).transpose(1, 2).reshape(rows.shape)


def _tokenizer(facts: dict[str, Any], name: str) -> FastTokenizer:
    kind = (facts["tokenizer.ggml.model"], facts.get("tokenizer.ggml.pre"))
    if kind != ("gpt2", "smollm"):
        raise UnsupportedModel(
            f"{name}: its tokenizer is {kind[0]!r} with pre-tokenizer {kind[1]!r}; only SmolLM's is read "
            f"from GGUF. "
            "Load the model's safetensors release instead."
        )
    tokens = facts["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in facts["tokenizer.ggml.merges"]]
    fast = FastTokenizer(tokenizer_models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    # SmolLM splits numbers into digits, then works on bytes as GPT-2 does.
    fast.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    fast.decoder = decoders.ByteLevel()
    control = [
        token
        for token, kind in zip(tokens, facts["tokenizer.ggml.token_type"], strict=True)
        if kind == CONTROL_TOKEN
    ]
    fast.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    return fast
