"""The shipped data and the repository's address are found from a clone and from an installed wheel."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from minillm import paths

ASK = """
import json
from minillm import paths
print(json.dumps({
    "data": str(paths.data_dir()), "url": paths.repository_url(), "clone": str(paths.checkout()),
    "file": paths.__file__,
}))
"""


@pytest.fixture(scope="module")
def installed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the wheel built from this tree is installed, without network."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, root]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("minillm-*.whl")
    target = folder / "site"
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", target, wheel], check=True)
    return target


def test_a_clone_finds_its_own_data(root: Path) -> None:
    assert paths.data_dir() == root / "data"
    assert paths.checkout() == root


def test_a_wheel_brings_the_data_along(root: Path, installed: Path, tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", ASK], cwd=tmp_path, env=_environment(installed), capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert Path(found["file"]).is_relative_to(installed)
    assert Path(found["data"]) == installed / "minillm" / "_data"
    assert found["clone"] == "None"
    assert found["url"] == paths.repository_url()


def test_a_wheel_holds_every_module_and_every_shipped_file(root: Path, installed: Path) -> None:
    tracked = subprocess.run(["git", "ls-files", "minillm", "data"], cwd=root, capture_output=True, text=True)
    if tracked.returncode != 0:
        pytest.skip("no git checkout")
    for name in tracked.stdout.splitlines():
        there = (
            installed / name.replace("data/", "minillm/_data/", 1)
            if name.startswith("data/")
            else installed / name
        )
        assert there.read_bytes() == (root / name).read_bytes(), name


def test_home_follows_the_variable_and_is_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINILLM_HOME", str(tmp_path / "a" / "b"))
    assert paths.home() == tmp_path / "a" / "b"
    assert paths.home().is_dir()


def test_home_without_the_variable_is_the_platforms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINILLM_HOME")
    monkeypatch.setattr(paths.platformdirs, "user_data_path", lambda *_, **__: tmp_path / "platform")
    assert paths.home() == tmp_path / "platform"


def test_converted_models_may_be_shared_by_several_homes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINILLM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MINILLM_CACHE", str(tmp_path / "cache"))
    assert paths.cache_dir() == tmp_path / "cache" and paths.cache_dir().is_dir()
    monkeypatch.delenv("MINILLM_CACHE")
    assert paths.cache_dir() == tmp_path / "home" / "models"


def test_missing_data_says_where_it_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "_PACKAGE", tmp_path / "minillm")
    with pytest.raises(FileNotFoundError, match="Reinstall minillm"):
        paths.data_dir()


def test_the_address_stands_in_one_place(root: Path) -> None:
    """Code asks `repository_url()`; only pyproject.toml, prose and built notebooks spell it out."""
    address = paths.repository_url().removeprefix("https://")
    spelled = [path for folder in ("minillm", "tools", "solutions") for path in (root / folder).rglob("*.py")]
    found = [str(path.relative_to(root)) for path in spelled if address in path.read_text(encoding="utf-8")]
    assert not found


def _environment(site: Path) -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(site)}
