"""Where things lie: the data that ships with the package, the learner's own files, the repository."""

import os
import re
from importlib import metadata
from pathlib import Path

import platformdirs

_PACKAGE = Path(__file__).resolve().parent


def checkout() -> Path | None:
    """The root of the clone this package is imported from; None when it is installed from a wheel."""
    root = _PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() and (root / "data").is_dir() else None


def data_dir() -> Path:
    """The shipped data: `data/` of a clone, `minillm/_data/` of an installed wheel.

    Raises FileNotFoundError when neither exists.
    """
    for folder in (_PACKAGE / "_data", _PACKAGE.parent / "data"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        f"minillm's data folder is missing: expected {_PACKAGE / '_data'} (installed) or "
        f"{_PACKAGE.parent / 'data'} (clone). Reinstall minillm, or run it from a full clone."
    )


def home() -> Path:
    """The learner's own folder, created if need be: progress, calibration, converted models.

    `MINILLM_HOME` if set, else the platform's user data folder. It lies outside the clone, so that a fresh
    clone or an update loses nothing.
    """
    chosen = os.environ.get("MINILLM_HOME")
    folder = Path(chosen).expanduser() if chosen else platformdirs.user_data_path("minillm", appauthor=False)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def cache_dir() -> Path:
    """Where converted models are kept, created if need be: what can be made again, so it may be deleted.

    `MINILLM_CACHE` if set, so that several homes can share it; else `models` in `home()`.
    """
    chosen = os.environ.get("MINILLM_CACHE")
    folder = Path(chosen).expanduser() if chosen else home() / "models"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def repository_url() -> str:
    """The repository's address, from its one place: `[project.urls] Repository` in pyproject.toml.

    A clone's own file comes first, since the metadata of an editable install may be older than it.
    Raises LookupError when neither names one.
    """
    root = checkout()
    if root is not None:
        text = (root / "pyproject.toml").read_text(encoding="utf-8")
        found = re.search(r'^Repository\s*=\s*"([^"]+)"', text, flags=re.MULTILINE)
        if found:
            return found[1]
    try:
        entries = metadata.metadata("minillm").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        entries = []
    for entry in entries:
        label, _, url = entry.partition(",")
        if label.strip() == "Repository":
            return url.strip()
    raise LookupError("no repository address found: pyproject.toml needs Repository under [project.urls]")
