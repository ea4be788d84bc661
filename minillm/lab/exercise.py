"""What an exercise is: a reference, cases that drive it, and the wrong ideas it can name."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from minillm.errors import MinillmError
from minillm.lab.describe import brief


class UnknownExercise(MinillmError):
    """No exercise under that id."""


@dataclass(frozen=True)
class Case:
    """One thing an exercise must get right.

    name: what the learner reads, e.g. "two rows of different lengths".
    run: takes the learner's function or class and returns a value; it builds its inputs afresh at each call.
        Applied to the reference, the same `run` gives the expected value.
    """

    name: str
    run: Callable[[Any], Any]


def call(*args: Any, name: str | None = None, **kwargs: Any) -> Case:
    """A case that calls the learner's function with copies of these arguments: no call spoils another."""
    shown = [brief(value) for value in args] + [f"{key}={brief(value)}" for key, value in kwargs.items()]

    def run(learner: Callable[..., Any]) -> Any:
        own_args, own_kwargs = copy.deepcopy((args, kwargs))
        return learner(*own_args, **own_kwargs)

    return Case(name or f"({', '.join(shown)})", run)


def raised(function: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """The name of the error type that this call raises, or "nothing"; for cases where refusing is the task.

    NotImplementedError passes through: a stub that refuses everything has not been attempted.
    """
    try:
        function(*args, **kwargs)
    except NotImplementedError:
        raise
    except Exception as error:
        return type(error).__name__
    return "nothing"


@dataclass(frozen=True)
class Misconception:
    """A wrong idea: an executable wrong implementation, and what to tell a learner whose outputs equal it."""

    name: str
    wrong: Any
    message: str


@dataclass(frozen=True)
class Exercise:
    """One exercise of a lab.

    id: "NN.name", the lab's number and the name of the function or class the learner writes.
    reference: a correct implementation, on which later cells continue until the learner's own passes.
    cases: what is checked; together they must tell every misconception from the truth and from each other.
    rtol, atol: |got - expected| <= atol + rtol·|expected| passes, for floats; integers compare exactly.
    seconds: deadline for one case, against endless loops.
    """

    id: str
    reference: Any
    cases: Sequence[Case]
    misconceptions: Sequence[Misconception] = ()
    hints: Sequence[str] = ()
    rtol: float = 1e-4
    atol: float = 1e-6
    seconds: float = 10.0

    def __post_init__(self) -> None:
        lab, _, name = self.id.partition(".")
        if not (lab.isdigit() and name.isidentifier()):
            raise ValueError(f'exercise id {self.id!r}: expected "NN.name", like "01.kv_bytes_per_token"')
        if not self.cases:
            raise ValueError(
                f"exercise {self.id}: at least one case is needed, or code never written would pass"
            )

    @property
    def lab(self) -> str:
        return self.id.partition(".")[0]

    @property
    def name(self) -> str:
        return self.id.partition(".")[2]


_registered: dict[str, Exercise] = {}


def register(exercise: Exercise) -> Exercise:
    """Make an exercise known that lies outside minillm/lab/exercises, a teacher's own, say. Returns it."""
    _registered[exercise.id] = exercise
    return exercise


def exercises(lab: str) -> Mapping[str, Exercise]:
    """The exercises of one lab by id, in the order they are taken; empty for a lab without any."""
    module = f"minillm.lab.exercises.lab{lab}"
    listed = import_module(module).EXERCISES if find_spec(module) else ()
    own = {exercise.id: exercise for exercise in listed}
    return own | {key: value for key, value in _registered.items() if value.lab == lab}


def find(exercise_id: str) -> Exercise:
    """The exercise with this id. Raises UnknownExercise, naming those of the lab."""
    known = exercises(exercise_id.partition(".")[0])
    if exercise_id not in known:
        there = ", ".join(known) or "none"
        raise UnknownExercise(f"no exercise {exercise_id!r}; that lab has: {there}. Is the id spelled right?")
    return known[exercise_id]
