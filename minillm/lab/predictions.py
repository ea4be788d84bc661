"""predict before, reveal after: how far off was the picture in your head?"""

from __future__ import annotations

import math
import re
from html import escape
from typing import Any

from minillm.lab import store
from minillm.lab.screen import say, show_html, widgets

_SCALE = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}
_SCALE |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_QUANTITY = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([kKMGTB]|[KMGT]i)?")
_asked: dict[str, tuple[str, str]] = {}  # id -> question and unit, as this kernel's predict cells gave them

GOOD, FACTOR, TERM = "a working mental model", "a factor is missing", "a term is missing"


def predict(prediction_id: str, question: str, unit: str = "", value: float | str | None = None) -> None:
    """Ask for a prediction and keep it: a text box where widgets work, else `value=`. Never waits.

    "12k", "3e9" and "1,500" are understood. It may be changed until `reveal` has shown the measurement.
    """
    _asked[prediction_id] = (question, unit)
    if value is not None:
        say(_keep(prediction_id, str(value)))
        return
    kept = _kept(prediction_id)
    shown = "" if kept is None else f" Your prediction: {quantity(kept, unit)}."
    show_html(f"<p><b>Predict.</b> {escape(question)}{escape(shown)}</p>", f"Predict. {question}{shown}")
    library = widgets()
    if library:
        _show_box(library, prediction_id, unit, kept)
    elif kept is None:
        say(
            f'To predict: predict("{prediction_id}", ..., value=YOUR_NUMBER)'
            + (f", in {unit}" if unit else "")
        )


def reveal(prediction_id: str, measured: float, how: str = "measured") -> None:
    """Show the figure beside the prediction, their ratio and what it says about the mental model.

    how: where the figure comes from, as the line says it: "measured", or "derived" for arithmetic.
    """
    question, unit = _asked.get(prediction_id, ("", ""))
    measured = float(measured)
    value = _kept(prediction_id)
    if value is None:
        say(f"{prediction_id}: {how} {quantity(measured, unit)}. You made no prediction this time.")
        return
    ratio, verdict = judge(value, measured)

    def change(progress: store.Progress) -> None:
        kept = store.entry(progress, "predictions", prediction_id)
        kept.update(measured=measured, ratio=_round(ratio), verdict=verdict, revealed=store.now())

    store.update(change)
    off = "exactly right" if ratio == 1 else f"off by {ratio:.2g}x" if math.isfinite(ratio) else "no ratio"
    text = f"predicted {quantity(value, unit)}, {how} {quantity(measured, unit)}: {off}, {verdict}."
    head = f"{escape(question)} " if question else ""
    show_html(f"<p>{head}<b>{escape(text[0].upper() + text[1:])}</b></p>", f"{prediction_id}: {text}")


def judge(predicted: float, measured: float) -> tuple[float, str]:
    """How far a prediction is off, as a ratio >= 1 (inf for a wrong sign or a zero), and the verdict."""
    if predicted == measured:
        return 1.0, GOOD
    if predicted * measured <= 0 or not (math.isfinite(predicted) and math.isfinite(measured)):
        return math.inf, TERM
    ratio = max(predicted / measured, measured / predicted)
    return ratio, GOOD if ratio <= 2 else FACTOR if ratio <= 10 else TERM


def parse(text: str, unit: str = "") -> float:
    """The number a person wrote, in `unit`: "1,500", "12k", "3e9", "7B"; "128 KiB" where the unit is bytes.

    The unit itself may follow. Raises ValueError for anything else, since a guess would spoil the verdict.
    """
    bare = text.replace(",", "").replace("_", "").strip()
    endings = (unit, "bytes", "byte", "B") if unit in ("B", "bytes") else (unit,)
    ending = next((end for end in endings if end and bare.endswith(end)), "")
    match = _QUANTITY.fullmatch(bare.removesuffix(ending).strip())
    if not match:
        asked = f" of {unit}" if unit else ""
        raise ValueError(f"{text!r} is not understood; write a number{asked}, like 1500, 12k or 3e9")
    value = float(match[1]) * _SCALE[match[2] or ""]
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is not a finite number")
    return value


def quantity(value: float, unit: str = "") -> str:
    """A number as a person reads it: 1,310,720 tok/s, 0.0031 s, 1.2e+12 FLOP."""
    size = abs(value)
    if size >= 1e12 or 0 < size < 1e-3 or not math.isfinite(value):
        text = f"{value:.3g}"
    elif size >= 1000 or value == int(value):
        text = f"{value:,.0f}"
    else:
        text = f"{value:.3g}"
    return f"{text} {unit}".strip()


def _round(ratio: float) -> float:
    return float(f"{ratio:.3g}")


def _kept(prediction_id: str) -> float | None:
    entry: Any = store.read()["predictions"].get(prediction_id)
    value = entry.get("value") if isinstance(entry, dict) else None
    return float(value) if isinstance(value, (int, float)) else None


def _keep(prediction_id: str, text: str) -> str:
    """Store a prediction; returns one line on what was done."""
    question, unit = _asked.get(prediction_id, ("", ""))
    try:
        value = parse(text, unit)
    except ValueError as error:
        return f"Not kept: {error}."
    entry: Any = store.read()["predictions"].get(prediction_id)
    if isinstance(entry, dict) and "revealed" in entry:
        return (
            f"The measurement is out already; your prediction stays {quantity(float(entry['value']), unit)}."
        )

    def change(progress: store.Progress) -> None:
        kept = store.entry(progress, "predictions", prediction_id)
        kept.update(question=question, unit=unit, value=value, made=store.now())

    kept = store.update(change)
    return f"Kept: {quantity(value, unit)}." if kept else ""


def _show_box(library: Any, prediction_id: str, unit: str, kept: float | None) -> None:
    from IPython.display import display

    box = library.Text(value="" if kept is None else f"{kept:g}", placeholder="a number, like 1500 or 12k")
    button, said = library.Button(description="Keep"), library.HTML()

    def keep(_: Any) -> None:
        said.value = escape(_keep(prediction_id, box.value))

    button.on_click(keep)
    display(library.HBox([box, library.Label(unit), button, said]))
