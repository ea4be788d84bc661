"""Executed pages: the solved notebooks as HTML, to read on a phone or on paper without running anything."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from minillm import paths

_WIDGET = "application/vnd.jupyter.widget-view+json"
_TIMEOUT_S = 600


def write_pages(root: Path) -> int:
    """Execute root/solutions/*.ipynb into root/build/html, with an index. Returns 1 if any could not be run.

    Checks that pass here are no learner's own, so the progress file is left alone. The machine's calibration
    and the models converted before are used.
    """
    folder = root / "build" / "html"
    folder.mkdir(parents=True, exist_ok=True)
    failed, links = 0, []
    with tempfile.TemporaryDirectory() as home:
        environment = _environment(Path(home))
        for notebook in sorted((root / "solutions").glob("*.ipynb")):
            page = folder / f"{notebook.stem}.html"
            try:
                page.write_text(_page(notebook, environment), encoding="utf-8")
            except Exception as error:  # any cell may fail in any way; the other pages are still wanted
                print(f"{notebook.name}: {error}")
                failed += 1
                continue
            links.append(f'<li><a href="{page.name}">{notebook.stem.replace("_", " ")}</a></li>')
            print(f"wrote {page.relative_to(root)}")
    head = "<!doctype html><meta charset=utf-8><title>minillm labs</title><h1>Labs</h1>"
    (folder / "index.html").write_text(f"{head}<ul>{''.join(links)}</ul>", encoding="utf-8")
    return int(failed > 0)


def _environment(home: Path) -> dict[str, str]:
    """What the kernels see: no widgets, since a page has no kernel behind it, and a home of their own."""
    calibration = paths.home() / "calibration.json"
    if calibration.exists():
        shutil.copy(calibration, home)
    own = {"MINILLM_HOME": str(home), "MINILLM_CACHE": str(paths.cache_dir()), "MINILLM_WIDGETS": "0"}
    return os.environ | own


def _page(path: Path, environment: dict[str, str]) -> str:
    import nbformat
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter

    notebook = nbformat.read(path, as_version=4)
    here = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=_TIMEOUT_S, resources=here).execute(env=environment)
    for cell in notebook.cells:
        cell["outputs"] = [output for output in cell.get("outputs", []) if not _is_widget(output)]
    notebook.metadata.pop("widgets", None)  # their state would make the page load scripts from the network
    body, _ = HTMLExporter(embed_images=True).from_notebook_node(notebook)
    return body


def _is_widget(output: Any) -> bool:
    return _WIDGET in output.get("data", {})
