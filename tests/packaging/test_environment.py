"""pyproject.toml, constraints.txt and environment.yml say the same thing, each in its own words."""

import re
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PYTHONS = ("3.10", "3.11", "3.12", "3.13")
CONDA_NAMES = {"pytorch": "torch"}
# Installed by conda or by make beside what pyproject.toml names.
CONDA_ONLY = {"python", "pip"}


def declared(root: Path) -> dict[str, dict[str, Requirement]]:
    """The requirements of pyproject.toml by group: `core` and each extra. (tomllib is not in Python 3.10.)"""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    groups = re.findall(r"^(dependencies|hub|lab|dev) = \[(.*?)\]$", text, flags=re.MULTILINE | re.DOTALL)
    found = {}
    for name, body in groups:
        requirements = [Requirement(line) for line in re.findall(r'"([^"]+)"', body)]
        found["core" if name == "dependencies" else name] = {
            canonicalize_name(requirement.name): requirement for requirement in requirements
        }
    return found


def pins(root: Path, python: str) -> dict[str, str]:
    """Package to version of constraints.txt under one Python; a package pinned twice there is an error."""
    pinned: dict[str, str] = {}
    for line in (root / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        requirement = Requirement(line)
        if requirement.marker and not requirement.marker.evaluate({"python_version": python}):
            continue
        (specifier,) = requirement.specifier
        assert specifier.operator == "==", f"{line}: constraints.txt pins with =="
        name = canonicalize_name(requirement.name)
        assert name not in pinned, f"{name} is pinned twice under Python {python}"
        pinned[name] = specifier.version
    return pinned


def conda(root: Path) -> tuple[list[str], dict[str, Requirement], list[str]]:
    """The channels, the conda requirements under their PyPI names, and the pip lines of environment.yml."""
    content = yaml.safe_load((root / "environment.yml").read_text(encoding="utf-8"))
    plain = [Requirement(entry) for entry in content["dependencies"] if isinstance(entry, str)]
    named = {canonicalize_name(CONDA_NAMES.get(item.name, item.name)): item for item in plain}
    (extra,) = [entry for entry in content["dependencies"] if isinstance(entry, dict)]
    return content["channels"], named, extra["pip"]


def test_every_group_of_requirements_is_read(root: Path) -> None:
    groups = declared(root)
    assert set(groups) == {"core", "hub", "lab", "dev"}
    assert "torch" in groups["core"] and "ipywidgets" in groups["lab"] and "pytest" in groups["dev"]


@pytest.mark.parametrize("python", PYTHONS)
def test_constraints_pin_every_requirement_inside_its_range(root: Path, python: str) -> None:
    pinned = pins(root, python)
    for group, requirements in declared(root).items():
        for name, requirement in requirements.items():
            assert name in pinned, f"{group}: {name} has no pin under Python {python}"
            assert requirement.specifier.contains(pinned[name]), (
                f"{name}=={pinned[name]} breaks {requirement}"
            )


def test_the_pins_hold_what_is_installed_here(root: Path) -> None:
    """In the environment that `make` builds, nothing is installed that constraints.txt does not pin."""
    if not (root / ".venv" / "minillm-setup.json").is_file():
        pytest.skip("no .venv made by tools/setup_env.py")
    (site,) = [
        *(root / ".venv").glob("lib/python*/site-packages"),
        *(root / ".venv").glob("Lib/site-packages"),
    ]
    version_file = (root / ".venv" / "pyvenv.cfg").read_text(encoding="utf-8")
    python = re.search(r"^version\s*=\s*(\d+\.\d+)", version_file, flags=re.MULTILINE)
    pinned = pins(root, python[1])
    beside = {"minillm", "pip", "setuptools", "triton"}
    for info in site.glob("*.dist-info"):
        name, version = info.name.removesuffix(".dist-info").rsplit("-", 1)
        name = canonicalize_name(name)
        if name in beside or name.startswith(("nvidia-", "cuda-")):
            continue
        assert pinned.get(name) == version.partition("+")[0], f"{name} {version} is not what is pinned"


def test_environment_yml_holds_the_ranges_of_pyproject(root: Path) -> None:
    channels, named, pip = conda(root)
    groups = declared(root)
    wanted = groups["core"] | groups["hub"] | groups["lab"]
    assert channels == ["conda-forge"]
    assert pip == ["-e ."]
    assert set(named) - CONDA_ONLY == set(wanted)
    for name, requirement in wanted.items():
        assert named[name].specifier == requirement.specifier, (
            f"{name}: environment.yml and pyproject.toml differ"
        )


def test_python_range_is_the_same_everywhere(root: Path) -> None:
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    required = re.search(r'^requires-python = "([^"]+)"', text, flags=re.MULTILINE)[1]
    assert conda(root)[1]["python"].specifier == Requirement(f"python{required}").specifier
    script = (root / "tools" / "setup_env.py").read_text(encoding="utf-8")
    assert "OLDEST, NEWEST = (3, 10), (3, 13)" in script
    specifier = Requirement(f"python{required}").specifier
    assert [f"3.{minor}" for minor in range(8, 16) if specifier.contains(f"3.{minor}")] == list(PYTHONS)
