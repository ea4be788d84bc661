"""Run a lab as Colab would: its Python, its versions, the notebook alone, minillm from the set-up cell.

    python tests/colab/run.py [LAB]     LAB is a number, 01 if not given

It makes a virtual environment in build/colab with what Colab preloads, copies the lab's notebooks to an empty
folder and executes them there: the set-up cell must install minillm (from this clone, in place of the
repository's address) without moving numpy or torch, every check must say "not attempted" unsolved and pass
solved. Where there is no Python 3.13 it says so and exits 0; COLAB_PYTHON names one that is not on the path.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "colab"
COLAB = [  # September 2026; torch from constraints.txt, since Colab's own is a CUDA build
    "ipython==7.34.0",
    "ipykernel==6.17.1",
    "ipywidgets==7.7.1",
    "matplotlib==3.10.*",
    "numpy==2.1.3",
    "transformers==5.16.*",
    "nbclient",
    "pyyaml",
    "setuptools",
]
EXECUTE = """
import sys, json, nbformat, nbclient
from importlib.metadata import version
held = {name: version(name) for name in ("numpy", "torch")}
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
moved = {name: (was, version(name)) for name, was in held.items() if version(name) != was}
if moved:
    sys.exit(f"the set-up cell moved {moved}")
import yaml
from minillm.lab.store import read
print(json.dumps({name: entry["state"] for name, entry in read()["exercises"].items()}))
"""


def find_python() -> str | None:
    """A Python 3.13, or None."""
    named = os.environ.get("COLAB_PYTHON") or shutil.which("python3.13")
    managed = sorted(Path.home().glob(".pyenv/versions/3.13*/bin/python"))
    return named or (str(managed[-1]) if managed else None)


def torch_pin() -> str:
    """The torch of constraints.txt, the build that `make` uses."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return next((line.split(";")[0].strip() for line in lines if line.startswith("torch==")), "torch")


def environment(python: str) -> Path:
    """The Python of the Colab look-alike, made at the first call; minillm is taken out of it each time."""
    inside = HOME / "bin" / "python"
    ready = HOME / "ready.txt"
    wanted = "\n".join([torch_pin(), *COLAB])
    if not ready.exists() or ready.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(HOME, ignore_errors=True)
        subprocess.run([python, "-m", "venv", str(HOME)], check=True)
        subprocess.run([str(inside), "-m", "pip", "install", "--quiet", torch_pin(), *COLAB], check=True)
        ready.write_text(wanted, encoding="utf-8")
    subprocess.run([str(inside), "-m", "pip", "uninstall", "--quiet", "--yes", "minillm"], check=True)
    return inside


def execute(python: Path, notebook: Path, strict: bool) -> str:
    """The states of the checks after Run All of one notebook, alone in a folder. Exits where a cell fails."""
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder) / notebook.name
        text = re.sub(r'git\+https://[^"\\]+', ROOT.as_uri(), notebook.read_text(encoding="utf-8"))
        alone.write_text(text, encoding="utf-8")
        settings = {"MINILLM_HOME": folder, "MINILLM_STRICT": str(int(strict)), "OMP_NUM_THREADS": "1"}
        settings["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # silences a warning of ipykernel's debugger
        ran = subprocess.run(
            [str(python), "-c", EXECUTE, str(alone)],
            cwd=folder,
            env=os.environ | settings,
            stdout=subprocess.PIPE,
            text=True,
        )
    if ran.returncode:
        sys.exit(f"colab: {notebook.parent.name}/{notebook.name} failed")
    return ran.stdout.strip().splitlines()[-1]


def main() -> int:
    lab = sys.argv[1] if len(sys.argv) > 1 else "01"
    python = find_python()
    if python is None:
        print("colab: skipped, no Python 3.13 here (COLAB_PYTHON=... names one)")
        return 0
    inside = environment(python)
    for folder, state, strict in (("labs", "not attempted", False), ("solutions", "passed", True)):
        (notebook,) = (ROOT / folder).glob(f"{lab}_*.ipynb")
        states = execute(inside, notebook, strict)
        print(f"colab: {folder}/{notebook.name}: {states}")
        wrong = [
            word for word in ("not attempted", "wrong", "error", "passed") if word in states and word != state
        ]
        if wrong or state not in states:
            print(f'colab: every check should say "{state}"')
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
