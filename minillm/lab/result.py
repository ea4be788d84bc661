"""What a check found: a number that nbgrader can read, with a table that a person can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from minillm.lab.exercise import Exercise
from minillm.lab.screen import say

NOT_ATTEMPTED = "not attempted"
ERROR = "raised an error"
WRONG_SHAPE = "wrong shape or type"
WRONG_VALUE = "wrong value"
PASSED = "passed"
SIGNS = {NOT_ATTEMPTED: "○", ERROR: "✗", WRONG_SHAPE: "✗", WRONG_VALUE: "✗", PASSED: "✓"}


@dataclass(frozen=True)
class CaseResult:
    """One case: its name, its state, what was expected and got (as text), and what to say about it."""

    name: str
    state: str
    expected: str = ""
    got: str = ""
    note: str = ""
    printed: str = ""


class Result(float):
    """The share of cases passed, 0.0 to 1.0, as a float: nbgrader reads it as the score of one point.

    state: the worst thing found, one of the five names above. misconception: the name of the wrong idea whose
    outputs equal the learner's, or None. message: what to do next, one line. `print(result)` shows all of it.
    """

    def __new__(cls, exercise: Exercise, learner: Any, cases: Sequence[CaseResult], **_: Any) -> Result:
        share = sum(case.state == PASSED for case in cases) / len(cases) if cases else 0.0
        return super().__new__(cls, share)

    def __init__(
        self,
        exercise: Exercise,
        learner: Any,
        cases: Sequence[CaseResult],
        *,
        state: str,
        message: str = "",
        misconception: str | None = None,
    ) -> None:
        self.exercise, self.cases, self.state = exercise, tuple(cases), state
        self.message, self.misconception = message, misconception
        self._learner = learner

    @property
    def passed(self) -> bool:
        return self.state == PASSED

    def yours_or_reference(self) -> Any:
        """The learner's own function or class if it passed; else the reference, saying so in one line."""
        if self.passed:
            return self._learner
        say(f"{self.exercise.id}: {self.state}; from here on the reference is used.")
        return self.exercise.reference

    @property
    def headline(self) -> str:
        """The exercise's name, its state and its cases, in one line."""
        count = sum(case.state == PASSED for case in self.cases)
        tally = f" ({count} of {len(self.cases)} cases right)" if self.cases else ""
        return f"{SIGNS[self.state]} {self.exercise.id}: {self.state}{tally}"

    def __repr__(self) -> str:
        return float.__repr__(self)  # nbgrader calls float() on it

    def __str__(self) -> str:
        lines = [self.headline]
        for case in self.cases:
            if case.state not in (PASSED, NOT_ATTEMPTED):
                lines.append(f"  {SIGNS[case.state]} {case.name}: {case.note}")
        return "\n".join([*lines, f"  {self.message}"] if self.message else lines)

    def __reduce__(self) -> Any:
        return float, (float(self),)

    def _repr_html_(self) -> str:
        parts = [f"<p><b>{escape(self.headline)}</b></p>"]
        if self.state != NOT_ATTEMPTED and self.cases:
            rows = "".join(_row(case) for case in self.cases)
            heads = "".join(
                f'<th style="text-align:left">{head}</th>' for head in ("", "case", "expected", "got", "")
            )
            parts.append(f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>")
        if self.message:
            parts.append(f"<p>{escape(self.message)}</p>")
        printed = next((case.printed for case in self.cases if case.printed.strip()), "")
        if printed:
            shown = printed if len(printed) < 2000 else printed[:2000] + "…"
            parts.append(
                f"<details><summary>what your code printed</summary><pre>{escape(shown)}</pre></details>"
            )
        return "<div>" + "".join(parts) + "</div>"


def _row(case: CaseResult) -> str:
    cells = (SIGNS[case.state], case.name, case.expected, case.got, "" if case.state == PASSED else case.note)
    return "<tr>" + "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in cells) + "</tr>"
