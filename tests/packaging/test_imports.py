"""Who may import whom, what loads without torch, and what no committed file may contain."""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Each part of the package stands on a floor and imports only from lower ones, or from itself. Parts on the
# same floor do not know each other. `lab` is imported by nothing but the command line, which imports modules
# by name when a subcommand runs.
FLOORS = {
    "errors": 0,
    "paths": 1,
    "cache": 2,
    "models": 3,
    "decoding": 4,
    "hardware": 4,
    "evaluate": 5,
    "machine": 5,
    "world": 5,
    "calibrate": 6,
    "quant": 6,
    "distill": 6,
    "serving": 6,
    "simulate": 7,
    "operate": 8,
    "server": 8,
    "viz": 9,
    "lab": 10,
    "cli": 11,
}

# These load in milliseconds and run anywhere. Some are planned: they are held to it once they exist.
TORCH_FREE = (
    "minillm",
    "minillm.cli",
    "minillm.errors",
    "minillm.hardware",
    "minillm.models",
    "minillm.models.config",
    "minillm.models.locate",
    "minillm.paths",
    "minillm.world",
    "minillm.world.stories",
    "minillm.serving.scheduler",
    "minillm.cache.blocks",
    "minillm.cache.prefix",
    "minillm.simulate",
    "minillm.operate",
    "minillm.lab",
)


def imported(source: str, module: str) -> Iterator[str]:
    """The absolute names of the modules that `source`, the text of `module`'s file, imports anywhere."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = module.split(".")[: -node.level]
            yield ".".join([*base, *([node.module] if node.module else [])])
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def upward(source: str, module: str) -> list[str]:
    """The imports of `module` that go up, or sideways, in FLOORS."""
    part = module.split(".")[1]
    wrong = []
    for name in imported(source, module):
        words = name.split(".")
        if words[0] != "minillm" or len(words) < 2 or words[1] == part:
            continue
        if words[1] in FLOORS and FLOORS[words[1]] >= FLOORS[part]:
            wrong.append(f"{module} imports {name}")
    return wrong


def sources(root: Path) -> Iterator[tuple[str, Path]]:
    """Module name and file of every module of the package but the root `__init__`."""
    for path in sorted((root / "minillm").rglob("*.py")):
        words = path.relative_to(root).with_suffix("").parts
        if words != ("minillm", "__init__"):
            yield ".".join(words), path


def test_every_part_has_a_floor(root: Path) -> None:
    parts = {module.split(".")[1] for module, _ in sources(root)}
    assert parts <= set(FLOORS), f"give these a floor in FLOORS: {sorted(parts - set(FLOORS))}"


def test_imports_go_down(root: Path) -> None:
    wrong = [line for name, path in sources(root) for line in upward(path.read_text(encoding="utf-8"), name)]
    assert not wrong, "\n".join(wrong)


def test_the_check_sees_an_import_that_goes_up() -> None:
    assert upward("from minillm.lab import check", "minillm.viz.figures")
    assert upward("from minillm import lab", "minillm.viz.figures")
    assert upward("def late():\n    import minillm.decoding", "minillm.models.loading")
    assert upward("from ..serving import engine", "minillm.quant.int8")
    assert not upward("from minillm.cache import KVCache\nimport torch", "minillm.models.loading")
    assert not upward("from minillm import __version__", "minillm.models.loading")


def test_torch_free_modules_load_no_torch(root: Path) -> None:
    there = [name for name in TORCH_FREE if _exists(root, name)]
    assert "minillm" in there and "minillm.models.config" in there
    loop = (
        "import importlib, sys\n"
        f"for name in {there!r}:\n"
        "    importlib.import_module(name)\n"
        "    heavy = {'torch', 'transformers', 'matplotlib'} & set(sys.modules)\n"
        "    if heavy: sys.exit(f'{name} imports {sorted(heavy)}')\n"
    )
    answer = subprocess.run([sys.executable, "-c", loop], cwd=root, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr


def test_lazy_names_of_the_package_resolve(root: Path) -> None:
    import minillm

    for name in minillm.__all__:
        assert getattr(minillm, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = minillm.nonsense


def test_no_bare_assert_in_the_package(root: Path) -> None:
    found = [
        f"{path.relative_to(root)}:{node.lineno}"
        for _, path in sources(root)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert)
    ]
    assert not found, f"raise an error that says what to do instead: {found}"


# A home folder, a temporary folder or a drive, written out. Built from parts, so as not to find itself.
LOCAL_PATH = re.compile(
    r"(?<![\w./:~-])/(?:" + "|".join(["work", "root", "home", "Users", "tmp", "mnt"]) + r")/\w"
    r"|\b[A-Z]:\\{1,2}(?:Users|Windows)\b"
)


def test_no_committed_file_names_a_local_path(root: Path) -> None:
    if not (root / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no git checkout")
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    found = []
    for name in filter(None, listing.decode().split("\0")):
        path = root / name
        if not path.is_file() or path == Path(__file__).resolve():
            continue
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue  # weights and pictures
        found += [
            f"{name}:{number}: {line.strip()[:80]}"
            for number, line in enumerate(lines, 1)
            if LOCAL_PATH.search(line)
        ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("text", ["open('/home/" + "ann/x')", "cd /work/" + "main", r"C:\Users" + r"\ann"])
def test_the_check_sees_a_local_path(text: str) -> None:
    assert LOCAL_PATH.search(text)


def _exists(root: Path, module: str) -> bool:
    path = root.joinpath(*module.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()
