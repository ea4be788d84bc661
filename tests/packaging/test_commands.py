"""The Makefile's targets, the CI script, and the copy of the labs to work in."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from minillm.lab.notebook import colab
from minillm.paths import repository_url

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def targets(root: Path) -> set[str]:
    text = (root / "Makefile").read_text(encoding="utf-8")
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    return set(phony.split())


@needs_make
def test_help_lists_every_target(root: Path) -> None:
    said = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=root, capture_output=True, text=True, check=True
    ).stdout
    assert {line.split()[1] for line in said.splitlines()} == targets(root)


@needs_make
def test_make_names_a_missing_python_in_one_line(root: Path, tmp_path: Path) -> None:
    for tool in ("make", "sh", "awk"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    said = subprocess.run(
        ["make", "setup"], cwd=root, env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert said.returncode != 0
    assert said.stderr.splitlines()[0] == "setup: no python3 found: install Python 3.10 to 3.13"


def test_documents_name_only_targets_that_exist(root: Path) -> None:
    for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"):
        named = re.findall(r"`make ([a-z]+)", (root / name).read_text(encoding="utf-8"))
        assert set(named) <= targets(root), name


def test_ci_runs_make_test(root: Path) -> None:
    script = (root / ".ci" / "run").read_text(encoding="utf-8")
    assert script.splitlines()[-1] == "exec make test"


def test_links_in_documents_lead_somewhere(root: Path) -> None:
    """Links to files of this repository, pictures included."""
    for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"):
        text = (root / name).read_text(encoding="utf-8")
        links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
        missing = [link for link in links if not (root / link).exists()]
        assert not missing, f"{name}: {missing}"


@pytest.fixture
def copy_new(root: Path) -> object:
    spec = importlib.util.spec_from_file_location("copy_labs", root / "tools" / "copy_labs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.copy_new


def test_copied_labs_are_never_overwritten(copy_new: object, tmp_path: Path) -> None:
    labs, mine = tmp_path / "labs", tmp_path / "my"
    labs.mkdir()
    (labs / "00_a.ipynb").write_text("new a", encoding="utf-8")
    assert copy_new(labs, mine) == (["00_a.ipynb"], [])
    (mine / "00_a.ipynb").write_text("my answers", encoding="utf-8")
    (labs / "01_b.ipynb").write_text("new b", encoding="utf-8")
    assert copy_new(labs, mine) == (["01_b.ipynb"], ["00_a.ipynb"])
    assert (mine / "00_a.ipynb").read_text(encoding="utf-8") == "my answers"


def test_the_readme_names_this_repository_and_no_other(root: Path) -> None:
    address = repository_url()
    text = (root / "README.md").read_text(encoding="utf-8")
    assert f"git clone {address} " in text
    assert f"({colab(address, '00_start_here')})" in text
    owner = address.removeprefix("https://github.com/")
    assert f"/gh/{owner}/main?labpath=labs/00_start_here.ipynb" in text


def test_the_readme_has_each_of_the_26_questions_once(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    asked = re.findall(r"(?:\| |· )(\d+) [A-Z][^|·]*\?", text)
    assert sorted(map(int, asked)) == list(range(1, 27))


def test_labs_marked_as_here_exist_and_planned_ones_do_not(root: Path) -> None:
    rows = re.findall(
        r"^\| (\d\d) \|.*\| (here|planned) \|$", (root / "README.md").read_text("utf-8"), re.MULTILINE
    )
    there = {path.name[:2] for path in (root / "labs").glob("*.ipynb")}
    assert {number for number, state in rows if state == "here"} == there
