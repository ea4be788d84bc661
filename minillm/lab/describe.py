"""Any value in a few characters, and what kind of thing it is, for tables and messages. Never raises."""

from __future__ import annotations

import reprlib
from typing import Any

_WIDTH = 72
_SMALL = 6  # arrays up to this many elements are shown whole

_shortened = reprlib.Repr()
_shortened.maxlist = _shortened.maxtuple = _shortened.maxset = _shortened.maxdict = 8
_shortened.maxstring = _shortened.maxother = _WIDTH


def is_torch(value: Any) -> bool:
    """Whether `value` is a torch tensor, told without importing torch."""
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach")


def is_numpy(value: Any) -> bool:
    """Whether `value` is a numpy array or scalar, told without importing numpy."""
    return type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "dtype")


def is_array(value: Any) -> bool:
    """Whether `value` is a torch tensor or a numpy array of at least one dimension."""
    return (is_torch(value) or is_numpy(value)) and len(value.shape) > 0


def kind(value: Any) -> str:
    """What a value is, with its size: "torch tensor [2, 3]", "list of 4", "int", "nothing (None)"."""
    if value is None:
        return "nothing (None)"
    if is_array(value):
        library = "torch tensor" if is_torch(value) else "numpy array"
        return f"{library} {list(value.shape)}"
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return f"{type(value).__name__} of {len(value)}"
    return type(value).__name__


def brief(value: Any, depth: int = 3) -> str:
    """A value as one short line; `depth` levels of lists and dicts are opened, since one may hold itself."""
    try:
        text = _one_line(value, depth)
    except Exception:  # a learner's object may fail even in its own repr
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _one_line(value: Any, depth: int) -> str:
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, float):
        return format(value, ".7g")
    if (is_torch(value) or is_numpy(value)) and len(value.shape) == 0:
        return _one_line(value.item(), depth)
    if is_array(value):
        size = 1
        for side in value.shape:
            size *= side
        name = "tensor" if is_torch(value) else "array"
        return f"{name}({_rounded(value.tolist())})" if size <= _SMALL else f"{name}{list(value.shape)}"
    if isinstance(value, (list, tuple)) and len(value) <= _SMALL and depth:
        inside = ", ".join(brief(item, depth - 1) for item in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(value) == 1 else ''})"
    if isinstance(value, dict) and len(value) <= _SMALL and depth:
        inside = ", ".join(f"{brief(key)}: {brief(item, depth - 1)}" for key, item in value.items())
        return f"{{{inside}}}"
    if callable(value) and hasattr(value, "__name__"):
        return value.__name__
    return _shortened.repr(value).replace("\n", " ")


def _rounded(nested: Any) -> str:
    if isinstance(nested, list):
        return f"[{', '.join(_rounded(item) for item in nested)}]"
    return format(nested, ".5g") if isinstance(nested, float) else repr(nested)
