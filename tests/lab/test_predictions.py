"""predict, reveal, say_first, defend, progress: kept, shown, and never waiting for anyone."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minillm.lab import Exercise, call, check, defend, predict, progress, register, reveal, say_first
from minillm.lab.predictions import FACTOR, GOOD, TERM, judge, parse, quantity
from minillm.lab.store import read


@pytest.mark.parametrize(
    ("predicted", "measured", "ratio", "verdict"),
    [
        (10, 10, 1, GOOD),
        (10, 20, 2, GOOD),
        (20, 10, 2, GOOD),
        (10, 21, 2.1, FACTOR),
        (100, 10, 10, FACTOR),
        (101, 10, 10.1, TERM),
        (-10, -20, 2, GOOD),
        (0, 0, 1, GOOD),
        (0, 5, math.inf, TERM),
        (5, 0, math.inf, TERM),
        (-5, 5, math.inf, TERM),
        (5, math.nan, math.inf, TERM),
        (5, math.inf, math.inf, TERM),
    ],
)
def test_verdicts(predicted, measured, ratio, verdict):
    found, said = judge(predicted, measured)
    assert found == pytest.approx(ratio) and said == verdict


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_too_much_is_judged_as_too_little(predicted, measured):
    assert judge(predicted, measured) == judge(measured, predicted)
    assert judge(predicted, measured)[0] >= 1


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("1500", "", 1500),
        (" 1,500 ", "tok/s", 1500),
        ("12k", "tok/s", 12_000),
        ("12 k tok/s", "tok/s", 12_000),
        ("3e9", "", 3e9),
        ("-.5", "", -0.5),
        ("1_000", "", 1000),
        ("7B", "weights", 7e9),
        ("7B", "bytes", 7),
        ("128 KiB", "bytes", 131_072),
        ("128 KiB", "KiB", 128),
        ("2 GB", "B", 2e9),
        ("2 GB", "GB", 2),
        ("40 tok/s", "tok/s", 40),
        ("3 ms", "ms", 3),
    ],
)
def test_quantities_understood(text, unit, value):
    assert parse(text, unit) == value


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("", ""),
        ("many", ""),
        ("3 ms", "s"),
        ("128 KiB", "MiB"),
        ("nan", ""),
        ("1e999", ""),
        ("1 2", ""),
        ("5m", ""),
    ],
)
def test_quantities_refused_rather_than_guessed(text, unit):
    with pytest.raises(ValueError):
        parse(text, unit)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_written_plainly_is_itself(value):
    assert parse(repr(value)) == value
    assert quantity(value, "s").endswith(" s")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (3, "3"),
        (1310720, "1,310,720"),
        (0.25, "0.25"),
        (12345.6, "12,346"),
        (3e12, "3e+12"),
        (1e-5, "1e-05"),
    ],
)
def test_quantities_shown(value, shown):
    assert quantity(value) == shown


def test_prediction_is_kept_then_judged(capsys):
    predict("01.speed", "How fast?", "tok/s", value="12k")
    assert read()["predictions"]["01.speed"]["value"] == 12_000
    reveal("01.speed", 30_000)
    said = capsys.readouterr().out
    assert "predicted 12,000 tok/s, measured 30,000 tok/s: off by 2.5x, a factor is missing." in said
    kept = read()["predictions"]["01.speed"]
    assert kept["measured"] == 30_000 and kept["ratio"] == 2.5 and kept["question"] == "How fast?"


def test_a_derived_figure_is_not_called_measured(capsys):
    reveal("01.bytes", 512, how="derived")
    predict("01.bytes", "How many?", "KiB", value=500)
    reveal("01.bytes", 512, how="derived")
    said = capsys.readouterr().out
    assert "01.bytes: derived 512" in said and "predicted 500 KiB, derived 512 KiB" in said
    assert "measured" not in said


def test_a_prediction_may_change_until_it_is_revealed(capsys):
    predict("01.speed", "How fast?", "tok/s", value=10)
    predict("01.speed", "How fast?", "tok/s", value=20)
    reveal("01.speed", 25)
    predict("01.speed", "How fast?", "tok/s", value=25)
    assert "stays 20 tok/s" in capsys.readouterr().out
    assert read()["predictions"]["01.speed"]["value"] == 20


def test_run_all_without_a_prediction_waits_for_nothing_and_locks_nothing(capsys, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("waited for input"))
    predict("01.speed", "How fast?", "tok/s")
    reveal("01.speed", 25)
    said = capsys.readouterr().out
    assert "value=YOUR_NUMBER" in said and "measured 25 tok/s" in said
    assert read()["predictions"] == {}
    predict("01.speed", "How fast?", "tok/s", value=20)
    assert read()["predictions"]["01.speed"]["value"] == 20


def test_a_prediction_that_is_no_number_is_not_kept(capsys):
    predict("01.speed", "How fast?", "tok/s", value="fast")
    assert "Not kept" in capsys.readouterr().out and read()["predictions"] == {}


def test_first_answer_comes_back_in_the_defense(capsys):
    say_first("01")
    assert "say_first" in capsys.readouterr().out
    say_first("01", "  It trades memory for time.  ")
    defend("01", ["the trade", "the formula"])
    said = capsys.readouterr().out
    assert "It trades memory for time." in said and "0: the trade" in said
    defend("01", ["the trade", "the formula"], ticked=[1, 7])
    assert "Kept: 1 of 2 points." in capsys.readouterr().out
    kept = read()["defenses"]["01"]
    assert kept["made"] == 1 and kept["of"] == 2 and kept["missed"] == ["the trade"]


def test_empty_answer_is_not_kept(capsys):
    say_first("01", "   ")
    assert "empty" in capsys.readouterr().out and read()["answers"] == {}


def test_progress_shows_all(capsys):
    register(Exercise("92.twice", reference=lambda n: 2 * n, cases=[call(2), call(3)]))
    register(Exercise("92.thrice", reference=lambda n: 3 * n, cases=[call(2)]))
    check("92.twice", lambda n: n + n)
    predict("92.size", "How big?", value=3)
    reveal("92.size", 4)
    say_first("92", "So it is.")
    capsys.readouterr()
    progress()
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("92 "))
    assert row == "92 | ✓ twice, ○ thrice | 1 of 1 | yes | no"


def test_progress_survives_a_file_edited_into_nonsense(own_home, capsys):
    own_home.mkdir()
    nonsense = "exercises: {93.a: x, 93.b: {state: odd}}\npredictions: {93.c: {ratio: much}, 5: 6}\n"
    (own_home / "progress.yaml").write_text(nonsense + "defenses: {'93': 1}\n", encoding="utf-8")
    progress()
    assert "93 | ○ a, ○ b" in capsys.readouterr().out
