"""Rows of data/claims.yaml, the functions behind them, and the table that shows both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from minillm.errors import MinillmError
from minillm.lab.predictions import quantity
from minillm.lab.screen import show_html
from minillm.paths import data_dir

VERDICTS = ("holds", "holds if", "wrong")
KINDS = ("derive", "measure")


class ClaimFileError(MinillmError):
    """data/claims.yaml, or a function it names, is not as it must be."""


class Unavailable(MinillmError):
    """Raised by a figure's function that cannot run here, for want of a model, say. Shown, not failed."""


@dataclass(frozen=True)
class Claim:
    """One row of the ledger.

    id: "NN.name". usual: the usual answer. verdict: "holds", "holds if" or "wrong". corrected: the statement
    that stands. figure: the name of a function in minillm/lab/claims/labNN.py that takes nothing and gives a
    number, in `unit`. range: where that number must fall, both ends included. kind: "derive" (arithmetic, the
    same everywhere) or "measure" (on this machine).
    """

    id: str
    question: str
    usual: str
    verdict: str
    corrected: str
    source: str
    figure: str
    range: tuple[float, float]
    unit: str = ""
    kind: str = "derive"

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS or self.kind not in KINDS:
            given = f"verdict {self.verdict!r}, kind {self.kind!r}"
            raise ClaimFileError(f"claim {self.id}: {given}; expected one of {VERDICTS} and one of {KINDS}")
        if len(self.range) != 2 or not self.range[0] <= self.range[1]:
            raise ClaimFileError(f"claim {self.id}: range {list(self.range)}; expected [low, high]")

    @property
    def lab(self) -> str:
        return self.id.partition(".")[0]

    def function(self) -> Callable[[], float]:
        """The function behind the figure. Raises ClaimFileError where there is none."""
        module = f"minillm.lab.claims.lab{self.lab}"
        try:
            return getattr(import_module(module), self.figure)
        except (ModuleNotFoundError, AttributeError) as error:
            raise ClaimFileError(
                f"claim {self.id}: no function {self.figure!r} in {module} ({error})"
            ) from error


@dataclass(frozen=True)
class Checked:
    """A claim with its figure as it came out here: a value, or the reason why there is none."""

    claim: Claim
    value: float | None = None
    missing: str = ""

    @property
    def within(self) -> bool:
        """Whether the figure fell in its range; False where there is no figure."""
        return self.value is not None and self.claim.range[0] <= self.value <= self.claim.range[1]

    @property
    def shown(self) -> str:
        """The figure as text, with what it was expected to be where it is off."""
        if self.value is None:
            return f"not run here: {self.missing}"
        text = f"{quantity(self.value, self.claim.unit)} ({self.claim.kind}d)"
        low, high = (quantity(end, self.claim.unit) for end in self.claim.range)
        return text if self.within else f"{text}: outside {low} to {high}"


def load_claims(lab: str | None = None, file: Path | None = None) -> list[Claim]:
    """The rows of the ledger, of one lab or of all. Raises ClaimFileError, which names the wrong row."""
    file = file or data_dir() / "claims.yaml"
    if not file.exists():
        return []
    rows = yaml.safe_load(file.read_text(encoding="utf-8")) or []
    claims = [_claim(row) for row in rows]
    doubled = {claim.id for claim in claims if sum(other.id == claim.id for other in claims) > 1}
    if doubled:
        raise ClaimFileError(f"{file.name}: more than one row with id {', '.join(sorted(doubled))}")
    return [claim for claim in claims if lab in (None, claim.lab)]


def _claim(row: Any) -> Claim:
    known = {part.name for part in fields(Claim)}
    if not isinstance(row, dict) or not set(row) <= known:
        unknown = sorted(set(row) - known) if isinstance(row, dict) else row
        raise ClaimFileError(f"claims.yaml: a row with {unknown}; a row has the keys {sorted(known)}")
    try:
        row = row | {"id": str(row["id"]), "range": tuple(float(end) for end in row["range"])}
        return Claim(**row)
    except (KeyError, TypeError, ValueError) as error:
        raise ClaimFileError(f"claims.yaml, row {row.get('id', row)}: {error}") from error


def check_claim(claim: Claim, measured: float | None = None) -> Checked:
    """Run the claim's function, or take a figure measured already."""
    if measured is not None:
        return Checked(claim, float(measured))
    try:
        return Checked(claim, float(claim.function()()))
    except Unavailable as reason:
        return Checked(claim, missing=str(reason))


def claims_table(lab: str, measured: Mapping[str, float] | None = None) -> None:
    """Show a lab's claims: usual answer, figure derived or measured here, verdict, what stands instead.

    measured: figures this notebook has measured, by claim id, shown instead of measuring again.
    """
    given = measured or {}
    claims = load_claims(lab)
    unknown = set(given) - {claim.id for claim in claims}
    if unknown:
        raise ClaimFileError(f"no claim {', '.join(sorted(unknown))} in lab {lab}")
    rows = [check_claim(claim, given.get(claim.id)) for claim in claims]
    show_html(_html(rows), ledger(rows))


def ledger(rows: list[Checked]) -> str:
    """The rows as text, a paragraph each, and a count at the end."""
    blocks = [
        f"{row.claim.id}  {row.claim.question}\n"
        f"  usual answer: {row.claim.usual}\n"
        f"  figure:       {row.shown}\n"
        f"  verdict:      {row.claim.verdict}. {row.claim.corrected}\n"
        f"  source:       {row.claim.source}"
        for row in rows
    ]
    within, missing = sum(row.within for row in rows), sum(row.value is None for row in rows)
    count = f"{within} of {len(rows)} figures within their range" + (
        f", {missing} not run here" if missing else ""
    )
    return "\n\n".join([*blocks, count])


def _html(rows: list[Checked]) -> str:
    heads = ("question", "usual answer", "figure here", "verdict", "what stands", "source")
    left = 'style="text-align:left;vertical-align:top"'
    head = "".join(f"<th {left}>{text}</th>" for text in heads)
    lines = []
    for row in rows:
        claim = row.claim
        cells = (claim.question, claim.usual, row.shown, claim.verdict, claim.corrected, claim.source)
        lines.append("<tr>" + "".join(f"<td {left}>{escape(cell)}</td>" for cell in cells) + "</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
