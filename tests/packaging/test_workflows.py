"""The workflow file: three systems, the oldest and the newest Python, and only commands that exist."""

from pathlib import Path

import yaml


def workflow(root: Path) -> dict:
    return yaml.safe_load((root / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))


def test_matrix_covers_the_systems_and_the_ends_of_the_python_range(root: Path) -> None:
    matrix = workflow(root)["jobs"]["test"]["strategy"]["matrix"]
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert matrix["python"] == ["3.10", "3.13"]


def test_steps_call_what_exists(root: Path) -> None:
    commands = [step.get("run", "") for job in workflow(root)["jobs"].values() for step in job["steps"]]
    assert "make test" in commands
    scripts = [word for line in commands for word in line.split() if word.endswith(".py")]
    assert scripts and all((root / script).is_file() for script in scripts)
