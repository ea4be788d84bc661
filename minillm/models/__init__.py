"""What turns tokens into logits. The names that need torch are imported on first use."""

from importlib import import_module

_HOME_OF = {
    "Loaded": "minillm.models.loading",
    "Tokenizer": "minillm.models.tokenizer",
    "Transformer": "minillm.models.transformer",
    "available": "minillm.models.locate",
    "load": "minillm.models.loading",
}

__all__ = ["Loaded", "Tokenizer", "Transformer", "available", "load"]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(
            f"module 'minillm.models' has no attribute {name!r}; it offers {', '.join(__all__)}"
        )
    return getattr(import_module(_HOME_OF[name]), name)
