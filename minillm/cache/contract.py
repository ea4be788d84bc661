"""What a model asks of a cache. Every cache in the package keeps this contract; no cache knows a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from torch import Tensor


class KVCache(ABC):
    """Keys and values of B rows over L layers. In what `update` returns, slot t of a row holds position t.

    One forward pass is: `reserve`, then `update` once per layer, then `commit`. A pass that breaks off
    before `commit` leaves the lengths as they were; the next `reserve` starts again from them.
    """

    @property
    @abstractmethod
    def lengths(self) -> Tensor:
        """Tokens held per row, int64 [B]."""

    @property
    @abstractmethod
    def uniform_start(self) -> int | None:
        """The length at which every row's reservation starts and after which every reserved token is valid.

        None where rows differ: then a mask, not a flag, must tell which keys a query may read.
        """

    @property
    @abstractmethod
    def reserved_length(self) -> int:
        """T, the width of what `update` returns: the longest row, its reserved tokens included."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes the stored keys and values occupy."""

    @abstractmethod
    def reserve(self, new: int, counts: Sequence[int] | None = None) -> Tensor:
        """Make room for `new` tokens a row, of which the first `counts[b]` are valid (all if None).

        Returns their positions, int64 [B, new]. Raises CapacityExceeded and changes nothing when they do not
        fit, ValueError for counts that are not B numbers between 0 and `new`.
        """

    @abstractmethod
    def update(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Write one layer's new keys and values [B, K, S, E]; return all of them, [B, K, T, E]."""

    @abstractmethod
    def commit(self) -> None:
        """The reserved tokens now count as held."""

    @abstractmethod
    def truncate(self, length: int | Sequence[int]) -> None:
        """Forget every token from position `length` on, one number for all rows or one per row.

        Raises ValueError for more than a row holds.
        """
