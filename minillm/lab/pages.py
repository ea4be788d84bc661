"""Executed pages: the solved notebooks as HTML, to read on a phone or on paper without running anything."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

_WIDGET = "application/vnd.jupyter.widget-view+json"
_TIMEOUT_S = 600


def write_pages(root: Path) -> int:
    """Execute root/solutions/*.ipynb into root/build/html, with an index. Returns 1 if any could not be run.

    The learner's progress stays out of the pages; calibration and converted models are used where they exist.
    """
    folder = root / "build" / "html"
    folder.mkdir(parents=True, exist_ok=True)
    failed, links = 0, []
    os.environ["MINILLM_WIDGETS"] = "0"  # a page has no kernel behind it
    for notebook in sorted((root / "solutions").glob("*.ipynb")):
        page = folder / f"{notebook.stem}.html"
        try:
            page.write_text(_page(notebook), encoding="utf-8")
        except Exception as error:  # any cell may fail in any way; the others are still wanted
            print(f"{notebook.name}: {error}")
            failed += 1
            continue
        links.append(f'<li><a href="{page.name}">{notebook.stem.replace("_", " ")}</a></li>')
        print(f"wrote {page.relative_to(root)}")
    head = "<!doctype html><meta charset=utf-8><title>minillm labs</title><h1>Labs</h1>"
    index = f"{head}<ul>{''.join(links)}</ul>"
    (folder / "index.html").write_text(index, encoding="utf-8")
    return int(failed > 0)


def _page(path: Path) -> str:
    import nbformat
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter

    notebook = nbformat.read(path, as_version=4)
    here = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=_TIMEOUT_S, resources=here).execute()
    for cell in notebook.cells:
        cell["outputs"] = [output for output in cell.get("outputs", []) if not _is_widget(output)]
    notebook.metadata.pop("widgets", None)  # their state would make the page load scripts from the network
    body, _ = HTMLExporter(embed_images=True).from_notebook_node(notebook)
    return body


def _is_widget(output: Any) -> bool:
    return _WIDGET in output.get("data", {})
