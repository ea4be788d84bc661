"""Showing things in whatever the learner uses: a notebook, with or without widgets, or a plain Python."""

from __future__ import annotations

import os
import sys
from typing import Any


def say(text: str) -> None:
    """One plain line (or a few) of output; a console that lacks a character shows a question mark for it."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, errors="replace").decode(encoding))


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this code (not the IPython of a terminal)."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and hasattr(shell, "kernel")


def show_html(html: str, text: str) -> None:
    """HTML in a notebook, `text` anywhere else and for readers of plain text."""
    if in_notebook():
        from IPython.display import display

        display({"text/html": html, "text/plain": text}, raw=True)
    else:
        say(text)


def widgets() -> Any | None:
    """The module ipywidgets, version 7.7 or 8, in a notebook that has it; None elsewhere.

    MINILLM_WIDGETS=0 turns widgets off: for executed pages, and for a front end that fails to draw them.
    """
    if not in_notebook() or os.environ.get("MINILLM_WIDGETS") == "0":
        return None
    try:
        import ipywidgets
    except ImportError:
        return None
    return ipywidgets
