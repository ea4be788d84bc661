"""check and hint: the answer to "is my code right?", for any code whatever."""

from __future__ import annotations

import functools
import os
from typing import Any

from minillm.errors import MinillmError
from minillm.lab import store
from minillm.lab.compare import Difference, Tolerance, compare
from minillm.lab.describe import brief, kind
from minillm.lab.exercise import Case, Exercise, Misconception, find
from minillm.lab.result import ERROR, NOT_ATTEMPTED, PASSED, WRONG_SHAPE, WRONG_VALUE, CaseResult, Result
from minillm.lab.running import Outcome, attempt
from minillm.lab.screen import say


class ExerciseNotPassed(MinillmError):
    """Raised under MINILLM_STRICT=1 by a check that did not pass."""


def check(exercise_id: str, learner: Any) -> Result:
    """Run a learner's function or class on the exercise's cases and say how it differs from the reference.

    Whatever the learner's code does, this returns a Result, prints nothing and records the state in the
    progress file. Under MINILLM_STRICT=1 a check that does not pass raises ExerciseNotPassed. Raises
    UnknownExercise for an id that no lab has.
    """
    exercise = find(exercise_id)
    result = grade(exercise, learner)
    store.record_check(exercise.id, result.state, float(result))
    if os.environ.get("MINILLM_STRICT") == "1" and not result.passed:
        raise ExerciseNotPassed(str(result))
    return result


def hint(exercise_id: str) -> None:
    """Show the exercise's hints up to the next one; each call goes one step further."""
    exercise = find(exercise_id)
    if not exercise.hints:
        say(f"{exercise.id} has no hints: its docstring says all there is.")
        return
    steps = min(store.count_hint(exercise.id), len(exercise.hints))
    for step, text in enumerate(exercise.hints[:steps], start=1):
        say(f"hint {step} of {len(exercise.hints)}: {text}")


def grade(exercise: Exercise, learner: Any) -> Result:
    """The Result of `learner`, without recording it."""
    if is_reference(learner, exercise.reference):
        message = "This is the reference itself, not your own code: pass the function you wrote."
        return Result(exercise, learner, (), state=NOT_ATTEMPTED, message=message)
    if not callable(learner):
        message = f"Expected your function or class {exercise.name}, got {kind(learner)}: {brief(learner)}."
        return Result(exercise, learner, (), state=WRONG_SHAPE, message=message)
    outcomes = _outcomes(exercise, learner)
    expected = [_run(exercise, case, exercise.reference) for case in exercise.cases]
    judged = [_judge(exercise, *row) for row in zip(exercise.cases, outcomes, expected, strict=True)]
    cases = [case for case, _ in judged]
    state = _overall([case.state for case in cases])
    diagnosis = _diagnose(exercise, outcomes) if state not in (PASSED, NOT_ATTEMPTED) else None
    message = diagnosis.message if diagnosis else _advice(exercise, state, judged)
    name = diagnosis.name if diagnosis else None
    return Result(exercise, learner, cases, state=state, message=message, misconception=name)


def is_reference(learner: Any, reference: Any) -> bool:
    """Whether `learner` is the reference in disguise: wrapped, partially applied, copied or subclassed."""
    for _ in range(20):
        wrapped = (
            learner.func if isinstance(learner, functools.partial) else _attribute(learner, "__wrapped__")
        )
        if wrapped is None:
            break
        learner = wrapped
    if learner is reference:
        return True
    if isinstance(learner, type) and isinstance(reference, type):
        return issubclass(learner, reference)
    code = _attribute(learner, "__code__")
    return code is not None and code is _attribute(reference, "__code__")


def _attribute(value: Any, name: str) -> Any:
    """An attribute, or None where a learner's object has none or fails when asked."""
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def _run(exercise: Exercise, case: Case, implementation: Any) -> Outcome:
    return attempt(lambda: case.run(implementation), exercise.seconds)


def _outcomes(exercise: Exercise, implementation: Any) -> list[Outcome]:
    """What each case gave; after one that ran out of time the rest is not tried."""
    outcomes: list[Outcome] = []
    for case in exercise.cases:
        late = bool(outcomes) and isinstance(outcomes[-1].error, TimeoutError)
        outcomes.append(outcomes[-1] if late else _run(exercise, case, implementation))
    return outcomes


def _difference(exercise: Exercise, got: Outcome, expected: Outcome) -> Difference | None:
    """None when both returned the same value; a call that raised never agrees with one that is to return."""
    if got.error or expected.error:
        return Difference(True, f"{_told(got)} instead of {_told(expected)}")
    try:
        return compare(got.value, expected.value, Tolerance(exercise.rtol, exercise.atol))
    except Exception as error:  # a learner's object may fail in its own ==, len or getattr
        return Difference(True, f"this value cannot be compared: {type(error).__name__}: {error}")


def _told(outcome: Outcome) -> str:
    if outcome.error:
        text = brief(str(outcome.error))
        return f"{type(outcome.error).__name__}: {text}" if text else type(outcome.error).__name__
    return brief(outcome.value)


def _judge(
    exercise: Exercise, case: Case, got: Outcome, expected: Outcome
) -> tuple[CaseResult, Difference | None]:
    name = exercise.name + case.name if case.name.startswith("(") else case.name
    if got.unwritten:
        return CaseResult(name, NOT_ATTEMPTED, note="not written yet"), None
    difference = _difference(exercise, got, expected)
    if difference is None:
        return CaseResult(name, PASSED, _told(expected), _told(got), printed=got.printed), None
    if got.error:
        state, note = ERROR, _told(got) + (f", at {got.where}" if got.where else "")
    else:
        state, note = (WRONG_SHAPE if difference.shape else WRONG_VALUE), difference.text
    return CaseResult(name, state, _told(expected), _told(got), note, got.printed), difference


def _overall(states: list[str]) -> str:
    """The state of the first wrong case; not attempted if code is missing and nothing is wrong."""
    wrong = [state for state in states if state not in (PASSED, NOT_ATTEMPTED)]
    if wrong:
        return wrong[0]
    return NOT_ATTEMPTED if NOT_ATTEMPTED in states else PASSED


def _diagnose(exercise: Exercise, outcomes: list[Outcome]) -> Misconception | None:
    """The misconception that does, on every case, exactly what the learner's code did; else None."""
    if any(isinstance(outcome.error, (TimeoutError, NotImplementedError)) for outcome in outcomes):
        return None
    for misconception in exercise.misconceptions:
        wrong = (_run(exercise, case, misconception.wrong) for case in exercise.cases)
        if all(_same(exercise, ours, theirs) for ours, theirs in zip(outcomes, wrong, strict=True)):
            return misconception
    return None


def _same(exercise: Exercise, ours: Outcome, theirs: Outcome) -> bool:
    """Whether two wrong implementations did the same: equal values, or errors of the same type."""
    if ours.error and theirs.error:
        return type(ours.error) is type(theirs.error)
    return _difference(exercise, ours, theirs) is None


def _advice(exercise: Exercise, state: str, judged: list[tuple[CaseResult, Difference | None]]) -> str:
    """One line on what to do next."""
    steps = f'Stuck? hint("{exercise.id}")' if exercise.hints else ""
    if state == PASSED:
        return ""
    if state == NOT_ATTEMPTED:
        return f"Write {exercise.name} in the cell above and run both cells again. {steps}".strip()
    ratios = [difference.ratio for _, difference in judged if difference]
    first = ratios[0]
    same = first is not None and all(r is not None and abs(r - first) <= 1e-4 * abs(first) for r in ratios)
    if same and len(ratios) > 1:
        wrong = f"Every wrong value is {first:.6g} times the expected one"
        return f"{wrong}: is a factor missing, or one too many? {steps}".strip()
    return steps
