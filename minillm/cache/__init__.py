"""Where keys and values live between steps."""

from minillm.cache.contiguous import ContiguousCache
from minillm.cache.contract import KVCache

__all__ = ["ContiguousCache", "KVCache"]
