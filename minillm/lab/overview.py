"""progress(): what is done, what is open, how good the predictions were."""

from __future__ import annotations

import argparse
import re
from html import escape
from typing import Any

from minillm.lab import store
from minillm.lab.exercise import exercises
from minillm.lab.result import NOT_ATTEMPTED, SIGNS
from minillm.lab.screen import show_html

_HEADS = ("lab", "exercises", "predictions within 2x", "first answer", "defended")


def labs() -> list[str]:
    """The numbers of the labs that have exercises, in order."""
    from importlib.resources import files

    found = (re.fullmatch(r"lab(\d+)\.py", file.name) for file in files("minillm.lab.exercises").iterdir())
    return sorted(match[1] for match in found if match)


def progress() -> None:
    """Show every lab's exercises with their states, the predictions made and the answers given."""
    kept = store.read()
    known = sorted(
        {*labs(), *(key.partition(".")[0] for section in kept.values() for key in map(str, section))}
    )
    rows = [_row(lab, kept) for lab in known]
    text = "\n".join([" | ".join(_HEADS), *(" | ".join(row) for row in rows), f"kept in {store.path()}"])
    heads = "".join(f'<th style="text-align:left">{head}</th>' for head in _HEADS)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    where = f"<p>Kept in {escape(str(store.path()))}</p>"
    show_html(f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{where}", text)


def add_arguments(_: argparse.ArgumentParser) -> None:
    """`minillm progress` takes no arguments."""


def run(_: argparse.Namespace) -> int:
    """`minillm progress`: the same overview in a terminal."""
    progress()
    return 0


def _row(lab: str, kept: store.Progress) -> tuple[str, ...]:
    done = ", ".join(f"{SIGNS.get(state, '○')} {name}" for name, state in _states(lab, kept)) or "none"
    revealed = [entry for entry in _of(kept, "predictions", lab) if "ratio" in entry]
    good = sum(entry["ratio"] <= 2 for entry in revealed if isinstance(entry["ratio"], (int, float)))
    judged: Any = kept["defenses"].get(lab)
    defended = f"{judged.get('made')} of {judged.get('of')} points" if isinstance(judged, dict) else "no"
    return lab, done, f"{good} of {len(revealed)}", "yes" if lab in kept["answers"] else "no", defended


def _states(lab: str, kept: store.Progress) -> list[tuple[str, str]]:
    """Name and state of each exercise of a lab; those never checked count as not attempted."""
    checked = kept["exercises"]
    names = dict.fromkeys([*exercises(lab), *(key for key in checked if str(key).startswith(f"{lab}."))])
    entries = ((key, checked.get(key)) for key in names)
    return [
        (
            key.partition(".")[2],
            entry.get("state", NOT_ATTEMPTED) if isinstance(entry, dict) else NOT_ATTEMPTED,
        )
        for key, entry in entries
    ]


def _of(kept: store.Progress, section: str, lab: str) -> list[dict[str, Any]]:
    entries = kept[section].items()
    return [entry for key, entry in entries if str(key).startswith(f"{lab}.") and isinstance(entry, dict)]
