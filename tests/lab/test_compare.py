"""Comparing values: equal ones pass in any form a learner may choose, others part at the right place."""

import math
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from minillm.lab.compare import Tolerance, compare
from minillm.lab.describe import brief

LOOSE = Tolerance()


def difference(got, expected, tolerance=LOOSE):
    return compare(got, expected, tolerance)


Point = namedtuple("Point", "x y")


@dataclass
class Record:
    key: int
    values: list


@dataclass
class Other:
    key: int
    values: list


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (3, 3),
        (3.0, 3),
        (3, 3.0),
        (torch.tensor(3), 3),
        (torch.tensor(2.5), 2.5),
        (np.float32(2.5), 2.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (torch.tensor(True), True),
        (1.00001, 1.0),
        (math.inf, math.inf),
        (math.nan, math.nan),
        ("kite", "kite"),
        (None, None),
        ((1, 2), [1, 2]),
        (range(1, 3), [1, 2]),
        (np.array([1, 2]), [1, 2]),
        (torch.tensor([1, 2]), (1, 2)),
        ([[1.0], [2.0]], ((1.0,), (2.0,))),
        (Point(1, 2), (1, 2)),
        ({"b": [1], "a": 2}, {"a": 2, "b": [1]}),
        ({1, 2}, {2, 1}),
        (Other(1, [2]), Record(1, [2])),
        (torch.ones(2, 3), torch.ones(2, 3)),
        (torch.ones(2, 3, dtype=torch.bfloat16), torch.ones(2, 3)),
        (torch.ones(2, 3, dtype=torch.int8), torch.ones(2, 3)),
        (torch.ones(2, requires_grad=True), torch.ones(2)),
        (torch.tensor([math.nan, math.inf, -math.inf]), torch.tensor([math.nan, math.inf, -math.inf])),
        (torch.zeros(0, 3), torch.zeros(0, 3)),
        (np.ones((2, 2), dtype=np.float32), np.ones((2, 2))),
        (np.array(["a"]), np.array(["a"])),
    ],
)
def test_equal(got, expected):
    assert difference(got, expected) is None


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (None, 3),
        ("3", 3),
        (True, 1),
        (1, True),
        ([3], 3),
        (3, [3]),
        (3 + 0j, 3),
        (3, None),
        (b"kite", "kite"),
        ("ab", ["a", "b"]),
        ([1, 2], [1, 2, 3]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, "c": 2}, {"a": 1}),
        ([1, 2], torch.tensor([1, 2])),
        (np.ones(2), torch.ones(2)),
        (torch.ones(2), np.ones(2)),
        (torch.ones(3, 2), torch.ones(2, 3)),
        (torch.ones(2), torch.ones(2, 1)),
        (torch.ones(2), torch.ones(2, dtype=torch.bool)),
        (torch.tensor([1.0]), 1.0),
        ([[1, 2], [3]], [[1, 2], [3, 4]]),
        (Point, Point(1, 2)),
    ],
)
def test_wrong_shape_or_type(got, expected):
    found = difference(got, expected)
    assert found is not None and found.shape, found


@pytest.mark.parametrize(
    ("got", "expected", "said"),
    [
        (524_287, 524_288, "expected 524288, got 524287"),
        (524_287.0, 524_288, "got 524287"),
        (1.001, 1.0, "got 1.001"),
        (math.nan, 1.0, "got nan"),
        (1.0, math.nan, "expected nan"),
        (math.inf, 1.0, "got inf"),
        (-math.inf, math.inf, "got -inf"),
        ("kit", "kite", "expected 'kite', got 'kit'"),
        (False, True, "expected True, got False"),
        ([1, 5, 3], [1, 2, 3], "at [1]: expected 2, got 5"),
        ({"a": [1, {"b": 3}]}, {"a": [1, {"b": 2}]}, "at ['a'][1]['b']: expected 2, got 3"),
        (Other(1, [3]), Record(1, [2]), "at ['values'][0]"),
        ({1}, {2}, "expected {2}, got {1}"),
        (
            torch.tensor([[1.0, 2.0], [3.0, 9.0]]),
            torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
            "difference at [1, 1]",
        ),
        (torch.tensor([1, 2, 4]), torch.tensor([1, 2, 3]), "at [2]: expected 3, got 4; 1 of 3 differ"),
        (torch.tensor([1.0, math.nan]), torch.tensor([1.0, 2.0]), "at [1]: expected 2, got nan"),
        (torch.tensor([True, False]), torch.tensor([True, True]), "at [1]: expected True, got False"),
        (np.array(["a"]), np.array(["b"]), "at [0]"),
    ],
)
def test_wrong_value_is_shown_at_its_place(got, expected, said):
    found = difference(got, expected)
    assert found is not None and not found.shape and said in found.text, found


def test_largest_error_is_told():
    found = difference(torch.tensor([1.0, 2.5, 9.0]), torch.tensor([1.0, 2.0, 3.0]))
    assert "largest error 6" in found.text and "at [1]" in found.text


@pytest.mark.parametrize(
    ("got", "expected", "ratio"),
    [
        (8, 4, 2.0),
        (torch.tensor([2.0, 4.0, 0.0]), torch.tensor([1.0, 2.0, 0.0]), 2.0),
        (torch.tensor([2.0, 5.0]), torch.tensor([1.0, 2.0]), None),
        (3, 0, None),
        (math.inf, 1.0, None),
    ],
)
def test_constant_ratio(got, expected, ratio):
    assert difference(got, expected).ratio == ratio


def test_tolerance_is_the_exercises_own():
    assert difference(1.05, 1.0, Tolerance(0.1, 0.0)) is None
    assert difference(0.0, 1e-7, Tolerance(1e-4, 0.0)) is not None
    assert difference(torch.tensor([1.05]), torch.tensor([1.0]), Tolerance(0.1, 0.0)) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_every_value_equals_itself(value):
    assert difference(value, value) is None


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1), st.data())
def test_one_changed_item_is_found_where_it_is(values, data):
    place = data.draw(st.integers(0, len(values) - 1))
    changed = [*values[:place], values[place] + 1, *values[place + 1 :]]
    for make in (list, tuple, torch.tensor, np.array):
        found = difference(make(changed), make(values))
        assert found is not None and not found.shape and f"[{place}]" in found.text


@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.floats(-1, 1))
def test_scalars_and_arrays_judge_alike(expected, share):
    got = expected + 3 * share * (LOOSE.absolute + LOOSE.relative * abs(expected))
    scalar = difference(got, expected) is None
    array = difference(np.array([got]), np.array([expected])) is None
    assert scalar == array


@given(VALUES)
def test_brief_is_one_short_line(value):
    assert len(brief(value)) <= 72 and "\n" not in brief(value)


def test_brief_shows_small_arrays_and_sizes_of_large_ones():
    assert brief(torch.tensor([1.0, 2.5])) == "tensor([1, 2.5])"
    assert brief(torch.zeros(4, 5)) == "tensor[4, 5]"
    assert brief({"out": torch.zeros(4, 5), "n": 2}) == "{'out': tensor[4, 5], 'n': 2}"
    assert brief(np.float64(0.1)) == "0.1" and brief(test_brief_is_one_short_line).startswith("test_brief")
