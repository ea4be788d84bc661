"""One solved source, two notebooks: reading it, holding it to the rules, cutting the solutions out."""

from __future__ import annotations

import ast
import json
import re
import symtable
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minillm.errors import MinillmError

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
_CHECK = re.compile(r"""\bcheck\(\s*["'](\d\d)\.(\w+)["']""")
_REGION = re.compile(rf"^([ \t]*){BEGIN}\n(.*?)^[ \t]*{END}[ \t]*(?:\n|\Z)", re.MULTILINE | re.DOTALL)

SETUP = """\
# Set-up, the same in every lab: where minillm is missing, on Colab, it is installed, and torch left alone.
import importlib.util
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

if importlib.util.find_spec("minillm") is None:
    clone = next((up for up in Path.cwd().parents if (up / "minillm" / "lab").is_dir()), None)
    if clone:
        sys.path.insert(0, str(clone))
    else:
        there = [name for name in ("numpy", "torch") if importlib.util.find_spec(name)]
        kept = [f"{name}=={version(name)}" for name in there]
        pip = [sys.executable, "-m", "pip", "install", "--quiet"]
        if subprocess.run([*pip, "minillm @ git+URL", *kept]).returncode:
            raise SystemExit("minillm is not installed. Is there a network, and is this its address? URL")
        importlib.invalidate_caches()"""


class BuildError(MinillmError):
    """A lab's source breaks a rule; the message names file, cell and rule."""


@dataclass
class Cell:
    """One cell: "code" or "markdown", its text, and the id and nbgrader metadata the builder gives it."""

    kind: str
    text: str
    id: str = ""
    nbgrader: dict[str, Any] | None = None


def build(source: Path, url: str) -> tuple[str, str]:
    """The solved and the student notebook of one source, as the text of two .ipynb files.

    url: the repository's address, for the link to Colab and for the set-up cell. Raises BuildError.
    """
    title, *rest = _read(source)
    _name_cells(source.name, [title, *rest])
    _no_rebinding(source.name, [title, *rest])
    heading, _, body = title.text.partition("\n")
    title.text = f"{heading}\n\n[Open in Colab]({colab(url, source.stem)})\n{body}".rstrip()
    solved = [title, Cell("code", SETUP.replace("URL", url), "setup"), *rest]
    return _as_text(solved), _as_text([_student(cell) for cell in solved])


def colab(url: str, stem: str) -> str:
    """The address that opens a lab in Colab, for a repository on GitHub."""
    opener = url.replace("https://github.com/", "https://colab.research.google.com/github/")
    return f"{opener}/blob/main/labs/{stem}.ipynb"


def _read(source: Path) -> list[Cell]:
    import jupytext

    if not re.fullmatch(r"\d\d_[a-z0-9_]+", source.stem):
        raise BuildError(f"{source.name}: a source is named NN_verb_noun.py")
    notebook = jupytext.reads(source.read_text(encoding="utf-8"), fmt="py:percent")
    cells = [Cell(cell.cell_type, cell.source) for cell in notebook.cells]
    opening = f"# {source.stem[:2]} "
    if not cells or cells[0].kind != "markdown" or not cells[0].text.startswith(opening):
        raise BuildError(f'{source.name}: the first cell must be markdown that begins "{opening}Title"')
    return cells


def _name_cells(file: str, cells: Sequence[Cell]) -> None:
    """Give each cell its id, and nbgrader's metadata where it wants some. Raises BuildError."""
    exercise: Cell | None = None  # the one whose check is still to come
    seen: set[str] = set()
    for number, cell in enumerate(cells, start=1):
        where = f"{file}, cell {number}"
        cell.id = f"cell-{number:03}"
        solution, checked = _has_solution(cell, where), _checked(cell, file[:2], where)
        if solution and (exercise or checked):
            raise BuildError(f"{where}: an exercise begins before the one above it has its check cell")
        if solution:
            exercise = cell
        elif checked:
            if exercise is None or checked in seen:
                raise BuildError(f"{where}: a check of {checked} needs an exercise cell of its own above it")
            _mark(exercise, checked, cell)
            seen.add(checked)
            exercise = None
    if exercise:
        raise BuildError(f"{file}: the last exercise has no check cell")


def _no_rebinding(file: str, cells: Sequence[Cell]) -> None:
    """Raise BuildError where the name of an exercise, or of a check's result, is bound again in another cell.

    After `double = result.yours_or_reference()` a second run of the check would judge the reference; with one
    name for two results, a cell run again would take the wrong one.
    """
    owners: dict[str, str] = {}
    for cell in cells:
        if cell.nbgrader:
            owned = [cell.id] if cell.nbgrader["solution"] else _bound(cell)
            owners |= {name: owners.get(name, cell.id) for name in owned}
    for number, cell in enumerate(cells, start=1):
        taken = [name for name in _bound(cell) if owners.get(name, cell.id) != cell.id]
        if taken:
            raise BuildError(
                f"{file}, cell {number}: {taken[0]} belongs to cell {owners[taken[0]]}; take a new name"
            )


def _bound(cell: Cell) -> list[str]:
    """The names that a code cell binds for the whole notebook."""
    if cell.kind != "code":
        return []
    python = re.sub(r"^([ \t]*)[%!].*$", r"\1pass", cell.text, flags=re.MULTILINE)  # IPython's own lines
    symbols = symtable.symtable(python, cell.id, "exec").get_symbols()
    return [symbol.get_name() for symbol in symbols if symbol.is_assigned() or symbol.is_imported()]


def _mark(exercise: Cell, name: str, check: Cell) -> None:
    """The metadata of nbgrader's schema 3. A check is worth one point, its result being a share of one."""
    exercise.id, check.id = name, f"check_{name}"
    common = {"schema_version": 3, "task": False}
    exercise.nbgrader = common | {"grade": False, "grade_id": name, "locked": False, "solution": True}
    graded = {"grade": True, "grade_id": check.id, "locked": True, "points": 1, "solution": False}
    check.nbgrader = common | graded


def _has_solution(cell: Cell, where: str) -> bool:
    """Whether the cell is an exercise. Raises BuildError for markers that cannot be cut out cleanly."""
    markers = len(re.findall(r"(?:BEGIN|END) SOLUTION", cell.text))
    if not markers:
        return False
    if cell.kind != "code":
        raise BuildError(f"{where}: a solution marker in prose; nbgrader would take it for a real one")
    regions = list(_REGION.finditer(cell.text))
    whole = all(region[2].strip() and "SOLUTION" not in region[2] for region in regions)
    if 2 * len(regions) != markers or not whole:
        raise BuildError(
            f'{where}: "{BEGIN}" and "{END}" must come in pairs, on lines of their own, around code'
        )
    if not all(region[1] for region in regions):
        raise BuildError(f"{where}: a solution outside a function; its stub would stop Run All")
    return True


def _checked(cell: Cell, lab: str, where: str) -> str:
    """The exercise that this cell checks, "" for none. Raises BuildError where no result is shown."""
    match = _CHECK.search(cell.text) if cell.kind == "code" else None
    if match is None:
        return ""
    if match[1] != lab:
        raise BuildError(f"{where}: a check of {match[1]}.{match[2]} in lab {lab}")
    if not isinstance(ast.parse(cell.text).body[-1], ast.Expr):
        raise BuildError(f"{where}: a check cell must end with its result, to be shown and graded")
    return match[2]


def _student(cell: Cell) -> Cell:
    """The cell as a learner gets it: each solution replaced by a stub with a line budget."""
    if cell.nbgrader is None or not cell.nbgrader["solution"]:
        return cell

    def stub(region: re.Match[str]) -> str:
        lines = [line.strip() for line in region[2].splitlines()]
        budget = sum(bool(line) and not line.startswith("#") for line in lines)
        words = f"about {budget} line{'s' if budget > 1 else ''}"
        return f'{region[1]}# YOUR CODE HERE ({words})\n{region[1]}raise NotImplementedError("{cell.id}")\n'

    return Cell(cell.kind, _REGION.sub(stub, cell.text).rstrip("\n"), cell.id, cell.nbgrader)


def _as_text(cells: Sequence[Cell]) -> str:
    """The .ipynb text: nbformat 4.5, keys sorted, no outputs."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    content = {"cells": [_as_json(cell) for cell in cells], "metadata": metadata}
    content |= {"nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _as_json(cell: Cell) -> dict[str, Any]:
    metadata = {"nbgrader": cell.nbgrader} if cell.nbgrader else {}
    common = {"cell_type": cell.kind, "id": cell.id, "metadata": metadata}
    common["source"] = cell.text.splitlines(keepends=True)
    return common | ({"execution_count": None, "outputs": []} if cell.kind == "code" else {})
