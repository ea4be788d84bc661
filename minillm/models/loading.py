"""`load`: a shipped model, a local folder, a GGUF file or a hub id, ready to run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from minillm.errors import ModelNotFound, UnsafeCheckpoint, UnsupportedDtype
from minillm.models.config import ModelConfig
from minillm.models.locate import converted_folder, locate
from minillm.models.tokenizer import Tokenizer, read_eos_ids
from minillm.models.transformer import Transformer
from minillm.models.weights import lay_out_for_streaming, read_safetensors, to_state

DTYPES = (torch.float32, torch.bfloat16, torch.float16)


class Loaded(NamedTuple):
    """A model in inference mode, and its tokenizer."""

    model: Transformer
    tokenizer: Tokenizer


def load(
    name_or_path: str | Path, dtype: torch.dtype | str | None = None, device: torch.device | str = "cpu"
) -> Loaded:
    """Load a Llama-family model: 'tiny', 'tiny-draft', 'smollm2-135m', a folder, a .gguf file or a hub id.

    dtype: float32, bfloat16 or float16; if None, float32 on CPU and MPS, bfloat16 on a GPU that has it.
    Raises ModelNotFound, UnsafeCheckpoint (pickle or remote code), UnsupportedModel, UnsupportedDtype.
    """
    target = checked_device(device)
    wanted = checked_dtype(dtype, target)
    folder = locate(name_or_path)
    if folder.suffix == ".gguf":
        folder = _converted(folder)
    config = read_config(folder, str(name_or_path))
    tokenizer = Tokenizer.from_folder(folder, config.eos_ids)
    state = to_state(read_safetensors(folder), config, wanted)
    return Loaded(build(config, state, target), tokenizer)


def build(config: ModelConfig, state: dict[str, Tensor], device: torch.device | str = "cpu") -> Transformer:
    """A Transformer around `state` (the names of `to_state`), in inference mode on `device`."""
    with torch.device("meta"):  # no memory and no random numbers for weights about to be replaced
        model = Transformer(config)
    state = {name: tensor.to(device) for name, tensor in state.items()}
    if config.tied_embeddings:
        state["unembedding.weight"] = state["embedding.weight"]
    model.load_state_dict(state, assign=True)
    if config.tied_embeddings:
        model.unembedding.weight = model.embedding.weight
    model.to(device).requires_grad_(False).eval()  # the buffers; the weights are there already
    lay_out_for_streaming(model)
    return model


def read_config(folder: Path, name: str) -> ModelConfig:
    """The folder's config.json, with generation_config.json's end tokens."""
    path = folder / "config.json"
    if not path.is_file():
        raise ModelNotFound(f"{folder} has no config.json; give the folder of a downloaded or saved model.")
    raw = json.loads(path.read_text(encoding="utf-8"))
    if "auto_map" in raw:
        raise UnsafeCheckpoint(
            f"{name} asks to run its own Python code (auto_map in config.json), which minillm never does. "
            "Use a model of a built-in family."
        )
    config = ModelConfig.from_hf(
        {**raw, "eos_token_id": list(read_eos_ids(folder, _as_list(raw.get("eos_token_id"))))}, name
    )
    return config


def checked_device(device: torch.device | str) -> torch.device:
    """The device asked for. Raises UnsupportedDtype where torch has no such device on this machine."""
    target = torch.device(device)
    present = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if not present.get(target.type, False):
        here = ", ".join(name for name, there in present.items() if there)
        raise UnsupportedDtype(
            f"this machine has no {target.type!r} device that torch can use; choose one of: {here}."
        )
    return target


def checked_dtype(dtype: torch.dtype | str | None, device: torch.device) -> torch.dtype:
    """The dtype asked for, or the device's default. Raises UnsupportedDtype."""
    has_bf16 = device.type != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False)
    if dtype is None:
        return torch.bfloat16 if device.type == "cuda" and has_bf16 else torch.float32
    wanted = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
    if wanted not in DTYPES:
        names = ", ".join(str(known).removeprefix("torch.") for known in DTYPES)
        raise UnsupportedDtype(
            f"cannot compute in {dtype}: choose one of {names}; for fewer bits quantize the model."
        )
    if wanted == torch.bfloat16 and not has_bf16:
        raise UnsupportedDtype(
            "this GPU has no bfloat16 units: load with dtype=torch.float16 or torch.float32."
        )
    return wanted


def _as_list(eos: int | list[int] | None) -> list[int]:
    return [] if eos is None else eos if isinstance(eos, list) else [eos]


def _converted(gguf: Path) -> Path:
    """The safetensors copy of a GGUF file, made on the first load and kept."""
    folder = converted_folder(gguf)
    if not (folder / "config.json").is_file():
        from minillm.models.gguf import convert  # needs the gguf and transformers packages, once

        convert(gguf, folder)
    return folder
