"""Every notebook, run to its end by nbval in one kernel: unsolved, solved, and unsolved but strict."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from minillm.lab.build import out_of_step, plan
from minillm.paths import checkout, repository_url

ROOT = checkout()
LABS = sorted((ROOT / "solutions").glob("*.py"))
FIXTURE = Path(__file__).parents[1] / "lab" / "fixtures" / "90_try_machinery.py"


@pytest.fixture(scope="session", params=[*LABS, FIXTURE], ids=lambda source: source.stem)
def lab(request, tmp_path_factory):
    """The two notebooks of one source, freshly built, in a folder of their own."""
    root = tmp_path_factory.mktemp(request.param.stem)
    (root / "solutions").mkdir()
    shutil.copy(request.param, root / "solutions")
    for path, text in plan(root, repository_url()).items():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
    return root


def run(notebook: Path, home: Path, strict: bool) -> subprocess.CompletedProcess:
    """nbval's verdict on one notebook: lax, so a cell fails by raising only."""
    environment = os.environ | {"MINILLM_HOME": str(home), "OMP_NUM_THREADS": "1"}
    environment["MINILLM_STRICT"] = "1" if strict else "0"
    settings = notebook.parent / "pytest.ini"  # not the repository's own
    settings.write_text("[pytest]\n", encoding="utf-8")
    alone = ["-p", "no:cacheprovider", "-p", "no:xdist", "-c", str(settings)]
    nbval = ["--nbval-lax", "--nbval-current-env", "--nbval-cell-timeout", "300", "--tb=short", "-q"]
    command = [sys.executable, "-m", "pytest", *alone, *nbval, str(notebook)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8")


def report(ran: subprocess.CompletedProcess) -> str:
    """The first failures, where the cause is, and the last lines."""
    text = ran.stdout + ran.stderr
    return text if len(text) < 6000 else f"{text[:5000]}\n[...]\n{text[-1000:]}"


def exercises_in(notebook: Path) -> set[str]:
    return set(re.findall(r'check\(\\"(\d\d\.\w+)\\"', notebook.read_text(encoding="utf-8")))


def states(home: Path) -> dict[str, str]:
    """The state of each exercise checked, as the progress file kept it."""
    file = home / "progress.yaml"
    kept = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {name: entry["state"] for name, entry in (kept.get("exercises") or {}).items()}


@pytest.mark.skipif(not LABS, reason="no labs yet")
def test_committed_notebooks_are_what_their_sources_make():
    assert out_of_step(ROOT, plan(ROOT, repository_url())) == []


def test_unsolved_lab_runs_to_its_end(lab, tmp_path):
    (notebook,) = (lab / "labs").glob("*.ipynb")
    ran = run(notebook, tmp_path, strict=False)
    assert ran.returncode == 0, report(ran)
    assert states(tmp_path) == dict.fromkeys(exercises_in(notebook), "not attempted")


def test_solved_lab_passes_every_check(lab, tmp_path):
    (notebook,) = (lab / "solutions").glob("*.ipynb")
    ran = run(notebook, tmp_path, strict=True)
    assert ran.returncode == 0, report(ran)
    assert states(tmp_path) == dict.fromkeys(exercises_in(notebook), "passed")


def test_unsolved_lab_fails_under_strictness_and_names_each_exercise(lab, tmp_path):
    (notebook,) = (lab / "labs").glob("*.ipynb")
    exercises = exercises_in(notebook)
    if not exercises:
        pytest.skip("this lab has no exercises")
    ran = run(notebook, tmp_path, strict=True)
    assert ran.returncode == 1, report(ran)
    plain = re.sub(r"\x1b\[[\d;]*m", "", ran.stdout)
    assert set(re.findall(r"ExerciseNotPassed: ○ (\S+): not attempted", plain)) == exercises, report(ran)
