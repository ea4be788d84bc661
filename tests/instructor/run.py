"""The instructor's way, from end to end with nbgrader: release, collect, autograde.

    python tests/instructor/run.py [LAB ...]     LAB is a number; all labs if none is given

Run it with the Python that has minillm. nbgrader gets a virtual environment of its own in build/instructor,
since it adds panels to everyone's JupyterLab. Three learners hand in each lab: the released notebook, the one
in labs/, both untouched, and the solved one. The first two must score 0, the third full marks.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from minillm.lab.build import plan
from minillm.paths import repository_url

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "instructor"
NBGRADER = "nbgrader==0.9.6"
SCORES = """
import json
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db") as book:
    for one in book.assignment_submissions("lab"):
        scores = {notebook.name: [notebook.score, notebook.max_score] for notebook in one.notebooks}
        print(json.dumps([one.student.id, scores]))
"""


def nbgrader_python() -> Path:
    """The Python that has nbgrader, installed at the first call."""
    inside = HOME / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not inside.exists():
        subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True)
        subprocess.run([str(inside), "-m", "pip", "install", "--quiet", NBGRADER], check=True)
    return inside


def run(course: Path, *command: str) -> str:
    """Run nbgrader's Python in the course folder, its kernels being this Python; exits where it fails."""
    kernel = course / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True, exist_ok=True)
    start = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": start, "display_name": "Python 3", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    settings = {"JUPYTER_PATH": str(course / "jupyter"), "MINILLM_HOME": str(course / "home")}
    settings["PATH"] = os.pathsep.join(
        [str(nbgrader_python().parent), os.environ["PATH"]]
    )  # it calls alembic
    environment = os.environ | settings | {"OMP_NUM_THREADS": "1", "MINILLM_STRICT": "0"}
    ran = subprocess.run(
        [str(nbgrader_python()), *command], cwd=course, env=environment, capture_output=True, text=True
    )
    if ran.returncode:
        sys.exit(f"instructor: {' '.join(command[:3])} failed\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def hand_in(course: Path, learner: str, notebooks: list[Path]) -> None:
    folder = course / "submitted" / learner / "lab"
    folder.mkdir(parents=True)
    for notebook in notebooks:
        shutil.copy(notebook, folder)


def grade(course: Path, root: Path) -> dict[str, dict[str, list[float]]]:
    """Release root's solutions, hand in three times, autograde: learner -> notebook -> [score, most]."""
    solved = sorted((root / "solutions").glob("*.ipynb"))
    (course / "source" / "lab").mkdir(parents=True)
    for notebook in solved:
        shutil.copy(notebook, course / "source" / "lab")
    run(course, "-m", "nbgrader", "generate_assignment", "lab", "--force")
    hand_in(course, "released", sorted((course / "release" / "lab").glob("*.ipynb")))
    hand_in(course, "labs", sorted((root / "labs").glob("*.ipynb")))
    hand_in(course, "solved", solved)
    run(course, "-m", "nbgrader", "autograde", "lab", "--force", "--create")
    return dict(json.loads(line) for line in run(course, "-c", SCORES).splitlines())


def main() -> int:
    sources = [
        path for lab in sys.argv[1:] or [""] for path in sorted((ROOT / "solutions").glob(f"{lab}*_*.py"))
    ]
    with tempfile.TemporaryDirectory() as folder:
        root, course = Path(folder) / "root", Path(folder) / "course"
        (root / "solutions").mkdir(parents=True)
        for source in sources or [ROOT / "tests" / "lab" / "fixtures" / "90_try_machinery.py"]:
            shutil.copy(source, root / "solutions")
        for path, text in plan(root, repository_url()).items():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text.encode())
        scores = grade(course, root)
    failed = 0
    for learner, notebooks in sorted(scores.items()):
        for name, (score, most) in sorted(notebooks.items()):
            right = score == (most if learner == "solved" else 0)
            failed += not right
            print(f"instructor: {'ok' if right else 'WRONG'} {name}, {learner}: {score:g} of {most:g}")
    return int(failed > 0 or set(scores) != {"released", "labs", "solved"})


if __name__ == "__main__":
    sys.exit(main())
