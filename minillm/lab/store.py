"""The learner's own file: predictions, answers and checks, in `progress.yaml` under minillm.paths.home().

Every change reads the file, changes it and replaces it whole under a lock, so two open notebooks never lose
each other's entries and a crash leaves either the old file or the new one.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from minillm.lab.screen import say
from minillm.paths import home

_HEADER = (
    "# Your progress in the minillm labs: checks, predictions, answers. Yours to read and to edit.\n"
    "# Delete this file to start afresh. MINILLM_HOME moves it.\n"
)
_SECTIONS = ("exercises", "hints", "predictions", "answers", "defenses")
Progress = dict[str, dict[str, Any]]


def path() -> Path:
    """Where the progress file lies."""
    return home() / "progress.yaml"


def read() -> Progress:
    """All sections, each a dict by id; empty where nothing was kept yet or the file cannot be read."""
    try:
        with _locked():
            return _load()
    except OSError as error:
        say(f"Your progress file cannot be read ({error}).")
        return {section: {} for section in _SECTIONS}


def entry(progress: Progress, section: str, key: str) -> dict[str, Any]:
    """The entry to change or read; made anew where there is none, or where an edit left something else."""
    if not isinstance(progress[section].get(key), dict):
        progress[section][key] = {}
    return progress[section][key]


def update(change: Callable[[Progress], None]) -> bool:
    """Apply `change` to the file's content and write it back, as one step. Returns whether it was kept.

    A full disk or a read-only folder costs the entry, never the notebook: one line says so.
    """
    try:
        with _locked():
            progress = _load()
            change(progress)
            _write(progress)
    except OSError as error:
        say(f"Not kept: {path()} cannot be written ({error}). Set MINILLM_HOME to a folder of your own.")
        return False
    return True


def record_check(exercise_id: str, state: str, share: float) -> None:
    """Keep the outcome of one check: its state, the best share so far, the tries, when it first passed."""

    def change(progress: Progress) -> None:
        kept = entry(progress, "exercises", exercise_id)
        kept["state"] = state
        kept["best"] = round(max(share, _number(kept.get("best"))), 3)
        kept["tries"] = int(_number(kept.get("tries"))) + (state != "not attempted")
        if state == "passed":
            kept.setdefault("first_passed", now())

    update(change)


def count_hint(exercise_id: str) -> int:
    """Count one more hint shown for an exercise; returns the new number."""
    shown = int(_number(read()["hints"].get(exercise_id))) + 1
    update(lambda progress: progress["hints"].update({exercise_id: shown}))
    return shown


def now() -> str:
    """The local time, to the second, as the file shows it."""
    return datetime.now().isoformat(sep=" ", timespec="seconds")


def _number(value: Any) -> float:
    """A number read from a file that anyone may edit."""
    return value if isinstance(value, (int, float)) and math.isfinite(value) else 0.0


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """Hold the file for this process and thread; goes without on a drive that knows no locks."""
    from filelock import FileLock, Timeout

    lock = FileLock(str(path()) + ".lock", timeout=10)
    try:
        lock.acquire()
    except (OSError, NotImplementedError, Timeout):
        yield
        return
    try:
        yield
    finally:
        lock.release()


def _load() -> Progress:
    file = path()
    content: Any = None
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        broken = not isinstance(content, (dict, type(None)))
    except FileNotFoundError:
        broken = False
    except (yaml.YAMLError, ValueError, RecursionError):  # UnicodeDecodeError is a ValueError
        broken = True
    if broken:
        _set_aside(file)
        content = None
    progress: Progress = dict(content or {})
    for section in _SECTIONS:
        if not isinstance(progress.get(section), dict):
            progress[section] = {}
    return progress


def _set_aside(file: Path) -> None:
    """Keep an unreadable file under another name, and say so."""
    kept = file.with_name(f"progress.broken-{datetime.now():%Y%m%d-%H%M%S-%f}.yaml")
    file.replace(kept)
    say(f"Your progress file could not be read. It is kept as {kept}; a new one is begun.")


class _Dumper(yaml.SafeDumper):
    """YAML with several lines of text as a block, as a person would write it."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    if any(separator in text for separator in "\x85\u2028\u2029\ufeff"):
        style = '"'  # PyYAML writes these bare in the other styles and reads back something else
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def _write(progress: Progress) -> None:
    """Write beside the file, flush to disk, put it in place: a crash at any moment leaves a whole file."""
    file = path()
    kept = {section: entries for section, entries in progress.items() if entries not in ({}, None)}
    body = yaml.dump(kept, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100) if kept else ""
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8", errors="replace", newline="\n") as stream:
        stream.write(_HEADER + body)
        stream.flush()
        os.fsync(stream.fileno())
    for last in (False, False, False, False, True):
        try:
            temporary.replace(file)
            return
        except PermissionError:  # Windows: a virus scanner or an editor holds the file for a moment
            if last:
                raise
            time.sleep(0.1)
