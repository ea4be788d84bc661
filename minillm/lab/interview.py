"""say_first and defend: the answer before the lab, and the same question after it, judged by the learner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from minillm.lab import store
from minillm.lab.screen import say, show_html, widgets


def say_first(lab: str, text: str | None = None) -> None:
    """Ask for the answer before reading on, and keep it in the learner's own file. Never waits.

    text: the answer, where there are no widgets. `defend` shows it again at the end; a new one replaces it.
    """
    if text is not None:
        say(_keep_answer(lab, text))
        return
    kept = answer(lab)
    library = widgets()
    if library:
        _show_area(library, lab, kept)
    elif kept:
        say(f"Your first answer, kept: {kept}")
    else:
        say(f'To keep your answer: say_first("{lab}", "your answer in three sentences")')


def answer(lab: str) -> str:
    """The answer kept for a lab, "" if there is none."""
    entry = store.read()["answers"].get(lab)
    return str(entry.get("text", "")) if isinstance(entry, dict) else ""


def defend(lab: str, points: Sequence[str], ticked: Iterable[int] | None = None) -> None:
    """Show the first answer again and the points a strong one makes, to tick off after saying it aloud.

    ticked: the positions (from 0) of the points made, where there are no widgets. The progress file keeps the
    count and the points that were missed.
    """
    points = list(points)
    if ticked is not None:
        say(_keep_points(lab, points, set(ticked)))
        return
    first = answer(lab) or "(you kept no first answer)"
    items = "".join(f"<li>{escape(point)}</li>" for point in points)
    listed = "\n".join(f"  {position}: {point}" for position, point in enumerate(points))
    library = widgets()
    again = "<p><b>Say it again now, then tick what you said:</b></p>"
    html = f"<p><b>What you said first:</b> {escape(first)}</p>{again}"
    text = f"What you said first: {first}\nSay it again now. Points of a strong answer:\n{listed}"
    show_html(html if library else f"{html}<ul>{items}</ul>", text)
    if library:
        _show_boxes(library, lab, points)
    else:
        say(f'To keep the score: defend("{lab}", points, ticked=[0, 2])')


def _keep_answer(lab: str, text: str) -> str:
    text = text.strip()
    if not text:
        return "Nothing to keep yet: the box is empty."

    def change(progress: store.Progress) -> None:
        store.entry(progress, "answers", lab).update(text=text, written=store.now())

    return "Kept. You will see it again at the end of the lab." if store.update(change) else ""


def _keep_points(lab: str, points: list[str], ticked: set[int]) -> str:
    made = sorted(position for position in ticked if 0 <= position < len(points))

    def change(progress: store.Progress) -> None:
        missed = [point for position, point in enumerate(points) if position not in made]
        store.entry(progress, "defenses", lab).update(
            made=len(made), of=len(points), missed=missed, judged=store.now()
        )

    return f"Kept: {len(made)} of {len(points)} points." if store.update(change) else ""


def _show_area(library: Any, lab: str, kept: str) -> None:
    from IPython.display import display

    area = library.Textarea(
        value=kept,
        placeholder="Your answer, before reading on",
        layout=library.Layout(width="95%", height="110px"),
    )
    button, said = library.Button(description="Keep"), library.HTML()

    def keep(_: Any) -> None:
        said.value = escape(_keep_answer(lab, area.value))

    button.on_click(keep)
    display(library.VBox([area, library.HBox([button, said])]))


def _show_boxes(library: Any, lab: str, points: list[str]) -> None:
    from IPython.display import display

    wide = library.Layout(width="95%")
    boxes = [library.Checkbox(value=False, description=point, indent=False, layout=wide) for point in points]
    button, said = library.Button(description="Keep"), library.HTML()

    def keep(_: Any) -> None:
        ticked = {position for position, box in enumerate(boxes) if box.value}
        said.value = escape(_keep_points(lab, points, ticked))

    button.on_click(keep)
    display(library.VBox([*boxes, library.HBox([button, said])]))
