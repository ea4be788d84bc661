"""check: five answers told apart, for whatever a learner's code may do."""

import contextlib
import functools
import io
import math
import random
import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minillm.lab import (
    Case,
    Exercise,
    ExerciseNotPassed,
    Misconception,
    UnknownExercise,
    call,
    check,
    hint,
    raised,
    register,
)
from minillm.lab.checking import grade
from minillm.lab.store import read


def total(values, scale=1):
    return scale * sum(values)


SUM = Exercise(
    "91.total",
    reference=total,
    cases=[call([1, 2, 3]), call([10, -4], scale=2), call([5, 5, 5, 5], 3)],
    misconceptions=[
        Misconception("scale forgotten", lambda values, scale=1: sum(values), "The scale is not used."),
        Misconception("length", lambda values, scale=1: scale * len(values), "This counts the values."),
        Misconception(
            "as a list", lambda values, scale=1: [scale * v for v in values], "One number is wanted."
        ),
        Misconception("no default", lambda values, scale: scale * sum(values), "scale needs a default."),
    ],
    hints=["Add them up.", "Then scale."],
    seconds=2,
)


@pytest.fixture(autouse=True)
def known():
    register(SUM)


def stub(values, scale=1):
    raise NotImplementedError("total")


def test_five_states():
    assert check("91.total", stub).state == "not attempted"
    assert check("91.total", lambda values, scale=1: values[99]).state == "raised an error"
    assert check("91.total", lambda values, scale=1: "6").state == "wrong shape or type"
    assert check("91.total", lambda values, scale=1: 7).state == "wrong value"
    assert check("91.total", lambda values, scale=1: sum(v * scale for v in values)).state == "passed"


def test_result_is_the_share_of_cases_passed_and_nbgrader_can_read_it():
    result = check("91.total", lambda values, scale=1: sum(values))
    assert isinstance(result, float) and result == pytest.approx(1 / 3)
    assert float(repr(result)) == result
    assert float(repr(check("91.total", stub))) == 0.0
    assert float(repr(check("91.total", lambda values, scale=1: scale * sum(values)))) == 1.0


def test_misconception_is_named_when_every_outcome_is_its_own():
    result = check("91.total", lambda values, scale=1: sum(values))
    assert result.misconception == "scale forgotten" and result.message == "The scale is not used."
    assert check("91.total", lambda v, scale=1: [x * scale for x in v]).misconception == "as a list"


def test_misconception_that_raises_is_named_too():
    result = check("91.total", lambda values, scale: sum(values) * scale)
    assert result.state == "raised an error" and result.misconception == "no default"


def test_misconception_is_not_named_when_one_case_disagrees():
    result = check("91.total", lambda values, scale=1: 8 if scale == 2 else sum(values))
    assert result.state == "wrong value" and result.misconception is None


def test_constant_factor_is_pointed_out():
    result = check("91.total", lambda values, scale=1: 4 * scale * sum(values))
    assert "4 times the expected" in result.message and 'hint("91.total")' in result.message


def test_error_is_shown_with_the_line_of_the_learners_code():
    source = "def total(values, scale=1):\n    first = 1\n    return values['a']\n"
    import linecache

    linecache.cache["<cell>"] = (len(source), None, source.splitlines(keepends=True), "<cell>")
    space = {}
    exec(compile(source, "<cell>", "exec"), space)
    result = check("91.total", space["total"])
    assert "TypeError" in result.cases[0].note and "line 3: return values['a']" in result.cases[0].note


def test_error_inside_a_library_is_shown_at_the_learners_line():
    result = check("91.total", lambda values, scale=1: random.sample(values, 99))
    assert "ValueError" in result.cases[0].note and "random.sample" in result.cases[0].note


def test_forgotten_return_is_said():
    result = check("91.total", lambda values, scale=1: None)
    assert result.state == "wrong shape or type" and "is a return missing?" in result.cases[0].note


def test_arguments_are_fresh_for_every_call_and_every_check():
    def spoiler(values, scale=1):
        result = scale * sum(values)
        values.clear()
        return result

    assert check("91.total", spoiler).passed
    assert check("91.total", spoiler).passed
    assert check("91.total", lambda values, scale=1: scale * sum(values)).passed


def test_value_is_taken_as_it_was_when_returned():
    kept = []

    def append(n):
        kept.append(n)
        return kept

    def fresh(n):
        return [n]

    register(Exercise("91.fresh", reference=fresh, cases=[call(1), call(2)]))
    result = check("91.fresh", append)
    assert [case.state for case in result.cases] == ["passed", "wrong shape or type"]


@pytest.mark.parametrize(
    "disguise",
    [
        total,
        functools.partial(total),
        functools.partial(functools.partial(total)),
        functools.wraps(total)(lambda *given, **named: total(*given, **named)),
        type(total)(total.__code__, globals(), "mine", total.__defaults__),
    ],
)
def test_the_reference_is_refused_in_any_disguise(disguise):
    result = check("91.total", disguise)
    assert result.state == "not attempted" and result == 0.0 and "reference" in result.message


def test_a_subclass_of_the_reference_is_refused():
    class Counter:
        def up(self):
            return 1

    class Mine(Counter):
        pass

    register(Exercise("91.Counter", reference=Counter, cases=[Case("up", lambda made: made().up())]))
    assert check("91.Counter", Counter).state == check("91.Counter", Mine).state == "not attempted"


def test_a_class_half_written_is_not_attempted_where_it_is_a_stub():
    class Pair:
        def one(self):
            return 1

        def two(self):
            return 2

    class Half:
        def one(self):
            return 1

        def two(self):
            raise NotImplementedError

    cases = [Case("one", lambda made: made().one()), Case("two", lambda made: made().two())]
    register(Exercise("91.Pair", reference=Pair, cases=cases))
    result = check("91.Pair", Half)
    assert result.state == "not attempted" and result == 0.5 and not result.passed


@pytest.mark.parametrize("given", [None, 3, "total", [total], 2.5, math.nan])
def test_something_that_is_no_function_is_a_wrong_type(given):
    result = check("91.total", given)
    assert result.state == "wrong shape or type" and result == 0.0 and "Expected" in result.message


def test_unknown_exercise_names_those_there_are():
    with pytest.raises(UnknownExercise, match=r"91\.total"):
        check("91.totl", stub)


def test_yours_or_reference(capsys):
    def mine(values, scale=1):
        return sum(scale * v for v in values)

    assert check("91.total", mine).yours_or_reference() is mine
    assert capsys.readouterr().out == ""
    assert check("91.total", stub).yours_or_reference() is total
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "91.total: not attempted" in said and "reference" in said
    assert check("91.total", lambda values, scale=1: 0).yours_or_reference() is total
    assert (
        check("91.total", lambda values, scale=1: sum(values)).yours_or_reference() is total
    )  # partly right


def test_a_second_check_judges_the_second_function():
    assert check("91.total", lambda values, scale=1: scale * sum(values)).passed
    assert not check("91.total", stub).passed
    assert not check("91.total", check("91.total", stub).yours_or_reference()).passed


def test_nothing_is_printed_and_prints_are_kept(capsys):
    def chatty(values, scale=1):
        print("out", values)
        print("err", file=sys.stderr)
        return scale * sum(values)

    result = check("91.total", chatty)
    captured = capsys.readouterr()
    assert result.passed and captured.out == captured.err == ""
    assert "out [1, 2, 3]" in result._repr_html_() and "err" in result.cases[0].printed


def test_html_escapes_what_the_learner_returned():
    html = check("91.total", lambda values, scale=1: "<script>")._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html


def test_html_and_text_tell_name_state_got_and_expected():
    result = check("91.total", lambda values, scale=1: 7)
    for text in (str(result), result._repr_html_()):
        assert "✗ 91.total: wrong value" in text and "expected 6, got 7" in text


def test_strict_mode_raises_and_names_the_exercise(monkeypatch):
    monkeypatch.setenv("MINILLM_STRICT", "1")
    with pytest.raises(ExerciseNotPassed, match=r"91\.total: not attempted"):
        check("91.total", stub)
    with pytest.raises(ExerciseNotPassed, match=r"91\.total: wrong value"):
        check("91.total", lambda values, scale=1: 0)
    assert check("91.total", lambda values, scale=1: scale * sum(values)).passed
    monkeypatch.setenv("MINILLM_STRICT", "0")
    assert not check("91.total", stub).passed


def loop(values, scale=1):
    while True:
        pass


def stubborn(values, scale=1):
    while True:
        try:
            time.sleep(0.001)
        except:  # noqa: E722
            continue


@pytest.mark.parametrize("endless", [loop, stubborn, lambda values, scale=1: time.sleep(60)])
def test_a_loop_that_never_ends_is_stopped(endless):
    register(Exercise("91.loop", reference=total, cases=SUM.cases, seconds=0.2))
    result = check("91.loop", endless)
    assert result.state == "raised an error" and "never ends" in result.cases[0].note


def test_a_stopped_loop_does_not_go_on_behind_the_notebook():
    register(Exercise("91.loop", reference=total, cases=SUM.cases, seconds=0.1))
    before = set(threading.enumerate())
    check("91.loop", loop)
    assert set(threading.enumerate()) <= before


def test_endless_generator_is_cut_off():
    import itertools

    register(Exercise("91.first", reference=lambda n: list(range(n)), cases=[call(3)]))
    assert check("91.first", lambda n: itertools.count()).state == "wrong shape or type"
    assert check("91.first", lambda n: (i for i in range(n))).passed


def test_exit_in_a_learners_function_does_not_end_the_kernel():
    result = check("91.total", lambda values, scale=1: sys.exit(3))
    assert result.state == "raised an error" and result.cases[0].note.startswith("SystemExit: '3'")


def test_interrupt_of_the_person_at_the_keyboard_passes_through(monkeypatch):
    def interrupted(self, timeout=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        check("91.total", lambda values, scale=1: 0)


def test_a_case_whose_reference_fails_never_passes():
    def broken(n):
        raise ValueError

    exercise = Exercise("91.broken", reference=broken, cases=[call(1)])
    assert not grade(exercise, lambda n: None).passed
    assert not grade(exercise, lambda n: int("x")).passed


def test_raised_lets_a_stub_through():
    assert raised(int, "x") == "ValueError" and raised(int, "1") == "nothing"
    with pytest.raises(NotImplementedError):
        raised(stub, [])


def test_an_exercise_without_cases_is_refused():
    with pytest.raises(ValueError, match="at least one case"):
        Exercise("91.empty", reference=total, cases=[])
    with pytest.raises(ValueError, match=r"NN\.name"):
        Exercise("total", reference=total, cases=SUM.cases)


def test_outcome_is_kept_in_the_progress_file():
    check("91.total", stub)
    assert read()["exercises"]["91.total"] == {"state": "not attempted", "best": 0.0, "tries": 0}
    check("91.total", lambda values, scale=1: scale * sum(values))
    check("91.total", lambda values, scale=1: 0)
    kept = read()["exercises"]["91.total"]
    assert kept["state"] == "wrong value" and kept["best"] == 1.0 and kept["tries"] == 2
    assert kept["first_passed"]


def test_hints_come_in_steps(capsys):
    hint("91.total")
    assert capsys.readouterr().out == "hint 1 of 2: Add them up.\n"
    hint("91.total")
    hint("91.total")
    assert capsys.readouterr().out.count("hint 2 of 2: Then scale.") == 2


class Awkward:
    """Fails whatever it is asked."""

    def __eq__(self, other):
        raise RuntimeError("no comparing")

    def __repr__(self):
        raise RuntimeError("no repr")

    def __len__(self):
        raise RuntimeError("no len")

    def __bool__(self):
        raise RuntimeError("no bool")

    __hash__ = None


class Elusive:
    def __getattr__(self, name):
        raise RuntimeError("no attributes")

    def __call__(self, values, scale=1):
        return self


CYCLE: list = []
CYCLE.append(CYCLE)

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.complex_numbers()
    | st.text()
    | st.binary()
    | st.builds(Awkward)
    | st.builds(Elusive)
    | st.sampled_from([Elusive, CYCLE, range(3), total]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=6,
)


@given(got=ANYTHING, wanted=ANYTHING)
def test_check_never_raises_whatever_is_returned(got, wanted):
    def returns(values, scale=1):
        return got

    with contextlib.redirect_stderr(io.StringIO()) as stderr:
        mine = grade(SUM, returns)
        theirs = grade(Exercise("91.any", reference=lambda: wanted, cases=[call()]), lambda: got)
    for result in (mine, theirs):
        assert 0.0 <= result <= 1.0 and str(result) and result._repr_html_()
    assert mine.state in ("wrong shape or type", "wrong value")
    assert stderr.getvalue() == ""


@pytest.mark.parametrize("make", [Elusive, Awkward, lambda: Elusive, lambda: CYCLE])
def test_check_never_raises_whatever_is_given(make):
    assert not check("91.total", make()).passed
