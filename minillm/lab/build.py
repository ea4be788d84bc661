"""The notebook builder's command.

python -m minillm.lab.build            write solutions/*.ipynb and labs/*.ipynb from solutions/*.py
python -m minillm.lab.build --check    say which are out of step with their sources; exit code 1 if any
python -m minillm.lab.build --html     also execute the solved notebooks, into build/html
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from minillm import paths
from minillm.lab.notebook import BuildError, build


def plan(root: Path, url: str) -> dict[Path, str]:
    """Every notebook that the sources under root/solutions stand for: its path and its text."""
    written: dict[Path, str] = {}
    for source in sorted((root / "solutions").glob("*.py")):
        solved, student = build(source, url)
        written[source.with_suffix(".ipynb")] = solved
        written[root / "labs" / f"{source.stem}.ipynb"] = student
    return written


def out_of_step(root: Path, notebooks: dict[Path, str]) -> list[str]:
    """What a build would change, one line each: missing or outdated notebooks, and those without a source."""
    there = {path for folder in ("solutions", "labs") for path in (root / folder).glob("*.ipynb")}
    changed = [
        path
        for path, text in notebooks.items()
        if path not in there or path.read_text(encoding="utf-8") != text
    ]
    lines = [f"{path.relative_to(root)} is not what its source makes" for path in sorted(changed)]
    return lines + [f"{path.relative_to(root)} has no source" for path in sorted(there - set(notebooks))]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m minillm.lab.build", description="Build the notebooks.")
    parser.add_argument(
        "--check", action="store_true", help="only say what is out of step, exit code 1 if any"
    )
    parser.add_argument("--html", action="store_true", help="execute the solved notebooks into build/html")
    parser.add_argument("--root", type=Path, default=paths.checkout() or Path.cwd(), help="the clone")
    chosen = parser.parse_args(arguments)
    try:
        notebooks = plan(chosen.root, paths.repository_url())
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    if chosen.check:
        lines = out_of_step(chosen.root, notebooks)
        print("\n".join([*lines, "To repair: make notebooks"] if lines else ["The notebooks are in step."]))
        return int(bool(lines))
    for path, text in notebooks.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
    print(f"{len(notebooks)} notebooks written")
    if chosen.html:
        from minillm.lab.pages import write_pages

        return write_pages(chosen.root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
