"""Comparing what a learner's code returned with what was expected, and saying where they part."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

from minillm.lab.describe import brief, is_array, is_numpy, is_torch, kind


@dataclasses.dataclass(frozen=True)
class Difference:
    """Where two values part.

    shape: True when they differ in type, shape, length or keys; False when only a value differs.
    text: one line for the learner.
    ratio: got / expected where that is one number throughout, else None.
    """

    shape: bool
    text: str
    ratio: float | None = None


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """|got - expected| <= absolute + relative·|expected|, for floats; integers compare exactly."""

    relative: float = 1e-4
    absolute: float = 1e-6

    def allows(self, got: float, expected: float) -> bool:
        if math.isnan(got) or math.isnan(expected):
            return math.isnan(got) and math.isnan(expected)
        if math.isinf(got) or math.isinf(expected):
            return got == expected
        return abs(got - expected) <= self.absolute + self.relative * abs(expected)


def compare(got: Any, expected: Any, tolerance: Tolerance, at: str = "") -> Difference | None:
    """None when `got` is `expected` within the tolerance, else the first difference.

    A number may come as a 0-d tensor or a numpy scalar, a list as a tuple, a range or an array. A tensor must
    come as a tensor, and truth values as truth values. `at` names the place inside a nested value, e.g.
    "[2]['keys']".
    """
    got, expected = _plain(got), _plain(expected)
    if is_array(expected):
        return _compare_arrays(got, expected, tolerance, at)
    if isinstance(expected, Mapping):
        return _compare_mappings(got, expected, tolerance, at)
    if isinstance(expected, (list, tuple)):
        return _compare_sequences(got, expected, tolerance, at)
    if isinstance(expected, bool) or not isinstance(expected, Real):
        related = isinstance(got, type(expected)) or isinstance(expected, type(got))
        if not related or isinstance(got, bool) != isinstance(expected, bool):  # True is an int to Python
            return _wrong_type(got, expected, at)
        return None if got == expected else _wrong_value(got, expected, at)
    if isinstance(got, bool) or not isinstance(got, Real):
        return _wrong_type(got, expected, at)
    return _compare_numbers(got, expected, tolerance, at)


def _plain(value: Any) -> Any:
    """Scalars out of arrays, dataclasses as their fields, ranges as lists; anything else as it is."""
    if (is_torch(value) or is_numpy(value)) and len(value.shape) == 0:
        return value.item()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
    return list(value) if isinstance(value, range) else value


def _place(at: str) -> str:
    return f"at {at}: " if at else ""


def _wrong_type(got: Any, expected: Any, at: str) -> Difference:
    forgot = "; is a return missing?" if got is None else ""
    return Difference(True, f"{_place(at)}expected {kind(expected)}, got {kind(got)}{forgot}")


def _wrong_value(got: Any, expected: Any, at: str, ratio: float | None = None) -> Difference:
    return Difference(False, f"{_place(at)}expected {brief(expected)}, got {brief(got)}", ratio)


def _compare_numbers(got: Real, expected: Real, tolerance: Tolerance, at: str) -> Difference | None:
    if isinstance(expected, int):  # an exact number: a float may hold it, up to its rounding
        same = got == expected if isinstance(got, int) else math.isclose(got, expected, rel_tol=1e-9)
    else:
        same = tolerance.allows(float(got), float(expected))
    if same:
        return None
    ratio = got / expected if expected and math.isfinite(got) and math.isfinite(expected) else None
    return _wrong_value(got, expected, at, ratio)


def _compare_mappings(got: Any, expected: Mapping, tolerance: Tolerance, at: str) -> Difference | None:
    if not isinstance(got, Mapping):
        return _wrong_type(got, expected, at)
    missing = [brief(key) for key in expected if key not in got]
    surplus = [brief(key) for key in got if key not in expected]
    if missing or surplus:
        parts = [f"missing: {', '.join(missing)}"] * bool(missing) + [
            f"too many: {', '.join(surplus)}"
        ] * bool(surplus)
        return Difference(True, f"{_place(at)}the keys differ; {'; '.join(parts)}")
    differences = (
        compare(got[key], value, tolerance, f"{at}[{brief(key)}]") for key, value in expected.items()
    )
    return next((difference for difference in differences if difference), None)


def _compare_sequences(got: Any, expected: list | tuple, tolerance: Tolerance, at: str) -> Difference | None:
    if is_array(got):
        got = got.tolist()
    if not isinstance(got, (list, tuple)):
        return _wrong_type(got, expected, at)
    if len(got) != len(expected):
        shown = f" ({brief(got)} for {brief(expected)})"
        return Difference(True, f"{_place(at)}expected {len(expected)} items, got {len(got)}{shown}")
    pairs = enumerate(zip(got, expected, strict=True))
    differences = (compare(ours, theirs, tolerance, f"{at}[{index}]") for index, (ours, theirs) in pairs)
    return next((difference for difference in differences if difference), None)


def _compare_arrays(got: Any, expected: Any, tolerance: Tolerance, at: str) -> Difference | None:
    if not is_array(got) or is_torch(got) != is_torch(expected):
        return _wrong_type(got, expected, at)
    if tuple(got.shape) != tuple(expected.shape):
        return Difference(True, f"{_place(at)}expected shape {list(expected.shape)}, got {list(got.shape)}")
    ours, theirs = _numpy(got), _numpy(expected)
    if (ours.dtype == bool) != (theirs.dtype == bool):
        return Difference(True, f"{_place(at)}expected values of type {expected.dtype}, got {got.dtype}")
    wrong = _unequal(ours, theirs, tolerance)
    return _array_difference(ours, theirs, wrong, at) if wrong.any() else None


def _numpy(array: Any) -> Any:
    """A torch or numpy array as numpy, floats in double precision (numpy knows no bfloat16)."""
    if is_torch(array):
        array = array.detach().cpu()
        array = (array.double() if array.dtype.is_floating_point else array).numpy()
    return array.astype("float64") if array.dtype.kind == "f" else array


def _unequal(ours: Any, theirs: Any, tolerance: Tolerance) -> Any:
    import numpy as np

    if "f" not in (ours.dtype.kind, theirs.dtype.kind):
        return ours != theirs
    close = np.isclose(ours, theirs, rtol=tolerance.relative, atol=tolerance.absolute, equal_nan=True)
    return ~close


def _array_difference(ours: Any, theirs: Any, wrong: Any, at: str) -> Difference:
    import numpy as np

    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    pair = f"expected {brief(theirs[first])}, got {brief(ours[first])}"
    text = f"{_place(at)}first difference at {list(first)}: {pair}; {int(wrong.sum())} of {wrong.size} differ"
    if ours.dtype == bool or ours.dtype.kind not in "iuf" or theirs.dtype.kind not in "iuf":
        return Difference(False, text)
    with np.errstate(all="ignore"):
        error = np.abs(ours.astype("float64") - theirs.astype("float64"))
        ratios = (ours / theirs)[theirs != 0]
    finite = error[np.isfinite(error)]
    text += f"; largest error {finite.max():.3g}" if finite.size else ""
    constant = ratios.size > 1 and np.isfinite(ratios).all() and np.allclose(ratios, ratios[0], rtol=1e-4)
    return Difference(False, text, float(ratios[0]) if constant else None)
