"""Running a learner's code so that nothing it does can stop the notebook."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import io
import itertools
import linecache
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from minillm.lab.describe import is_torch

_MOST_ITEMS = 100_000  # taken from a generator that never ends
_PACKAGE = str(Path(__file__).resolve().parents[1])
_LIBRARY = str(Path(contextlib.__file__).resolve().parent)


class OutOfTime(BaseException):
    """Raised inside code past its deadline; no Exception, so that `except Exception` cannot swallow it."""


@dataclass(frozen=True)
class Outcome:
    """What a call did: a value, or an error and its line in the learner's code; and what it printed."""

    value: Any = None
    error: BaseException | None = None
    where: str = ""
    printed: str = ""

    @property
    def unwritten(self) -> bool:
        """Whether the call met a stub."""
        return isinstance(self.error, NotImplementedError)


def attempt(function: Callable[[], Any], seconds: float) -> Outcome:
    """Call `function` and tell what came of it; returns after `seconds` at the latest, whatever it does.

    It runs in a thread of its own: a loop that never ends is stopped by an exception raised inside it, a long
    call into C code is left behind. A generator is read to its end, up to 100,000 items. Output is kept apart
    (nbgrader gives no points to a cell that writes on stderr). KeyboardInterrupt passes through.
    """
    printed = io.StringIO()
    finished: list[Outcome] = []
    worker = threading.Thread(target=lambda: finished.append(_outcome(function)), daemon=True)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            worker.start()
        except RuntimeError:  # a Python without threads, as in a browser: no deadline there
            finished.append(_outcome(function))
        else:
            try:
                worker.join(seconds)
            finally:
                _stop(worker)
    late = Outcome(error=TimeoutError(f"still running after {seconds:g} s: is there a loop that never ends?"))
    outcome = finished[0] if finished and not isinstance(finished[0].error, OutOfTime) else late
    return replace(outcome, printed=printed.getvalue())


def _outcome(function: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(value=_kept(function()))
    except BaseException as error:  # SystemExit too: exit() in a learner's function must not end the kernel
        return Outcome(error=error, where=_line_of(error))


def _kept(value: Any) -> Any:
    """The value as it is now: a generator read out, a copy of what later calls might still change."""
    if isinstance(value, Iterator):
        value = list(itertools.islice(value, _MOST_ITEMS))
    try:
        return value.detach().clone() if is_torch(value) else copy.deepcopy(value)
    except Exception:  # an open file, a tensor inside a graph: kept as it is
        return value


def _stop(worker: threading.Thread) -> None:
    """Raise OutOfTime inside a thread that still runs; for a second, since a bare `except:` swallows it."""
    raise_in = getattr(getattr(ctypes, "pythonapi", None), "PyThreadState_SetAsyncExc", None)
    for _ in range(20):
        if raise_in is None or not worker.is_alive():
            return
        raise_in(ctypes.c_ulong(worker.ident or 0), ctypes.py_object(OutOfTime))
        worker.join(0.05)


def _line_of(error: BaseException) -> str:
    """The last line of the learner's own code on the way to the error, e.g. "line 4: x = a[i]"."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_library(frame.filename)]
    if not frames:
        return ""
    text = linecache.getline(frames[-1].filename, frames[-1].lineno or 0).strip()
    return f"line {frames[-1].lineno}" + (f": {text}" if text else "")


def _is_library(filename: str) -> bool:
    return filename.startswith((_PACKAGE, _LIBRARY, "<frozen")) or "site-packages" in filename
