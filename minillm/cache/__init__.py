"""Where keys and values live between steps. The names that need torch are imported on first use."""

from importlib import import_module

_HOME_OF = {"ContiguousCache": "minillm.cache.contiguous", "KVCache": "minillm.cache.contract"}

__all__ = ["ContiguousCache", "KVCache"]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"minillm.cache has no attribute {name!r}; it offers {', '.join(__all__)}")
    return getattr(import_module(_HOME_OF[name]), name)
