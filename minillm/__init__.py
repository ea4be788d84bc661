"""minillm: the internals of LLM inference in one small, readable package.

`import minillm` loads no torch: each name below is imported on first use (PEP 562).
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME_OF = {
    "ContiguousCache": "minillm.cache",
    "KVCache": "minillm.cache",
    "ModelConfig": "minillm.models.config",
    "Sampling": "minillm.decoding",
    "available": "minillm.models",
    "generate": "minillm.decoding",
    "load": "minillm.models",
    "stream": "minillm.decoding",
}

__all__ = ["__version__", *_HOME_OF]


def __getattr__(name: str) -> object:
    """Import `name` from the module that defines it, once; raises AttributeError for any other name."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'minillm' has no attribute {name!r}; it offers {', '.join(__all__)}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
