"""Figures as a notebook shows them: opaque, with alt text, drawn once."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import Any

from minillm.lab.screen import in_notebook, say


def show(figure: Any, alt: str) -> None:
    """Display a matplotlib figure as a PNG with alt text, then close it.

    alt: what the picture shows, in one or two sentences, for those who cannot see it. Jupyter drops alt text
    given as metadata, so the image is written as HTML. The background is opaque: it reads on light and dark
    themes alike. Outside a notebook the alt text is printed. Raises ValueError when it is missing.
    """
    from matplotlib import pyplot

    if not alt.strip():
        raise ValueError("show(figure, alt=...): say in a sentence what the figure shows")
    if in_notebook():
        from IPython.display import display

        image = base64.b64encode(png(figure)).decode("ascii")
        tag = f'<img alt="{escape(alt)}" src="data:image/png;base64,{image}" style="max-width:100%">'
        display({"text/html": f'<figure style="margin:0">{tag}</figure>', "text/plain": f"[{alt}]"}, raw=True)
    else:
        say(f"[{alt}]")
    pyplot.close(figure)


def png(figure: Any) -> bytes:
    """The figure as PNG bytes on an opaque background."""
    stream = io.BytesIO()
    face = figure.get_facecolor()
    color = "white" if face[3] < 1 else face
    figure.savefig(stream, format="png", bbox_inches="tight", facecolor=color)
    return stream.getvalue()
