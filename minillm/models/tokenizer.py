"""Text to token ids and back, through the `tokenizers` library and a checkpoint's own tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer as FastTokenizer

from minillm.errors import ModelNotFound


class Tokenizer:
    """A checkpoint's tokenizer. `eos_ids` end a generation."""

    def __init__(self, fast: FastTokenizer, eos_ids: Sequence[int] = ()) -> None:
        self.fast = fast
        self.eos_ids = tuple(eos_ids)

    @classmethod
    def from_folder(cls, folder: Path, eos_ids: Sequence[int] = ()) -> Tokenizer:
        """Read `tokenizer.json`. Raises ModelNotFound where the folder has none."""
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise ModelNotFound(
                f"{folder} has no tokenizer.json; save one with "
                "transformers.AutoTokenizer.from_pretrained(...).save_pretrained(folder)."
            )
        return cls(FastTokenizer.from_str(path.read_text(encoding="utf-8")), eos_ids)

    @property
    def vocab_size(self) -> int:
        return self.fast.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`, with the beginning-of-text token where the checkpoint wants one."""
        return self.fast.encode(text).ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of `ids`, special tokens left out."""
        return self.fast.decode(list(ids), skip_special_tokens=True)

    def chat(self, user_text: str) -> list[int]:
        """Ids of one user turn in the ChatML template, ready for the assistant's answer.

        Raises ValueError for a model without ChatML's tokens, which was not trained to chat.
        """
        if self.fast.token_to_id("<|im_start|>") is None:
            raise ValueError("this tokenizer has no <|im_start|>: the model continues text, so use encode().")
        turn = f"<|im_start|>user\n{user_text}<|im_end|>\n<|im_start|>assistant\n"
        return self.fast.encode(turn, add_special_tokens=False).ids


def read_eos_ids(folder: Path, default: Sequence[int]) -> tuple[int, ...]:
    """`generation_config.json`'s end tokens where it names some, else `default`."""
    path = folder / "generation_config.json"
    if not path.is_file():
        return tuple(default)
    eos = json.loads(path.read_text(encoding="utf-8")).get("eos_token_id")
    if eos is None:
        return tuple(default)
    return tuple(eos) if isinstance(eos, list) else (eos,)
