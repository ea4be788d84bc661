"""Copy the labs to `my/`, the folder to work in, so that an update never meets your answers.

Files that are already there are never touched: `make my` may be run again after each update.
"""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def copy_new(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """Copy the notebooks of `source` that `target` lacks; returns the names copied and the names kept."""
    target.mkdir(exist_ok=True)
    copied, kept = [], []
    for notebook in sorted(source.glob("*.ipynb")):
        if (target / notebook.name).exists():
            kept.append(notebook.name)
        else:
            shutil.copyfile(notebook, target / notebook.name)
            copied.append(notebook.name)
    return copied, kept


def main() -> int:
    copied, kept = copy_new(ROOT / "labs", ROOT / "my")
    print(f"my/: {len(copied)} copied ({', '.join(copied) or 'nothing new'}), {len(kept)} kept as they are.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
