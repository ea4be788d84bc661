"""What must hold for every exercise of every lab, whoever wrote it."""

import copy
import types

import pytest

from minillm.lab.checking import check, grade
from minillm.lab.exercise import exercises
from minillm.lab.overview import labs
from minillm.lab.running import attempt

EXERCISES = [exercise for lab in labs() for exercise in exercises(lab).values()]
MISCONCEPTIONS = [(exercise, wrong) for exercise in EXERCISES for wrong in exercise.misconceptions]

pytestmark = pytest.mark.skipif(not EXERCISES, reason="no exercises yet")


def clone(implementation):
    """The same behavior as other code, so that check takes it for a learner's own."""
    if isinstance(implementation, type):
        skipped = ("__dict__", "__weakref__")
        members = {name: value for name, value in vars(implementation).items() if name not in skipped}
        return type(implementation)(implementation.__name__, implementation.__bases__, members)
    code = implementation.__code__.replace(co_firstlineno=implementation.__code__.co_firstlineno + 1)
    twin = types.FunctionType(
        code, implementation.__globals__, "mine", implementation.__defaults__, implementation.__closure__
    )
    twin.__kwdefaults__ = copy.copy(implementation.__kwdefaults__)
    return twin


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
def test_reference_runs_every_case_and_is_refused(exercise):
    for case in exercise.cases:
        outcome = attempt(lambda case=case: case.run(exercise.reference), exercise.seconds)
        assert outcome.error is None, f"{case.name}: {outcome.error!r}"
    assert check(exercise.id, exercise.reference).state == "not attempted"


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
def test_a_copy_of_the_reference_passes(exercise):
    result = check(exercise.id, clone(exercise.reference))
    assert result.passed, str(result)


def unwritten(*_, **__):
    raise NotImplementedError


DO_NOTHING = {
    "none": lambda *_, **__: None,
    "zero": lambda *_, **__: 0,
    "false": lambda *_, **__: False,
    "empty": lambda *_, **__: [],
    "first argument": lambda *given, **__: given[0] if given else None,
    "last argument": lambda *given, **__: given[-1] if given else None,
}


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
def test_code_never_written_does_not_pass(exercise):
    stub = check(exercise.id, unwritten)
    assert stub.state == "not attempted" and float(stub) == 0.0, str(stub)
    for name, function in DO_NOTHING.items():
        assert not grade(exercise, function).passed, f"an implementation that returns {name} passes"


@pytest.mark.parametrize(
    ("exercise", "misconception"), MISCONCEPTIONS, ids=lambda value: getattr(value, "id", None) or value.name
)
def test_each_misconception_is_diagnosed_as_itself(exercise, misconception):
    result = check(exercise.id, misconception.wrong)
    assert not result.passed and result.misconception == misconception.name, str(result)
    assert result.message == misconception.message


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
def test_an_exercise_names_wrong_ideas_and_gives_hints(exercise):
    assert len(exercise.misconceptions) >= 2 and len(exercise.hints) >= 2
    assert len({wrong.name for wrong in exercise.misconceptions}) == len(exercise.misconceptions)
