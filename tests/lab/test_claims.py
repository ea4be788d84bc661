"""The ledger: rows are well formed, figures fall in their ranges, and a false one is seen."""

import pytest

from minillm import cli
from minillm.lab.claims import Claim, ClaimFileError, Unavailable, check_claim, claims_table, load_claims
from minillm.lab.claims import command as claims_command
from minillm.lab.claims import ledger as ledger_module

CLAIMS = load_claims()

ROW = """
- id: "94.half"
  question: What is half of ten?
  usual: Six.
  verdict: wrong
  corrected: Five.
  source: Arithmetic.
  figure: half
  range: [5, 5]
  unit: apples
"""


@pytest.fixture
def half(tmp_path, monkeypatch):
    """A ledger of one claim whose figure is 5, and a way to make it another."""
    (tmp_path / "claims.yaml").write_text(ROW, encoding="utf-8")
    monkeypatch.setattr(ledger_module, "data_dir", lambda: tmp_path)
    value = [5.0]
    monkeypatch.setattr(Claim, "function", lambda self: lambda: value[0])
    return value


@pytest.mark.skipif(not CLAIMS, reason="no claims yet")
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_figure_falls_in_its_range(claim):
    for _ in range(
        3 if claim.kind == "measure" else 1
    ):  # other work on the machine may spoil one measurement
        checked = check_claim(claim)
        if checked.value is None:
            pytest.skip(checked.missing)
        if checked.within:
            break
    assert checked.within, checked.shown
    assert all((claim.question, claim.usual, claim.corrected, claim.source))


@pytest.mark.parametrize(
    "claim", [claim for claim in CLAIMS if claim.kind == "derive"], ids=lambda claim: claim.id
)
def test_a_derived_figure_is_the_same_twice(claim):
    assert check_claim(claim) == check_claim(claim)


def test_table_shows_the_row(half, capsys):
    claims_table("94")
    said = capsys.readouterr().out
    for words in (
        "What is half of ten?",
        "Six.",
        "5 apples (derived)",
        "wrong. Five.",
        "1 of 1 figures within",
    ):
        assert words in said


def test_a_figure_outside_its_range_is_seen(half, capsys):
    half[0] = 6.0
    claims_table("94")
    said = capsys.readouterr().out
    assert "6 apples (derived): outside 5 apples to 5 apples" in said and "0 of 1 figures" in said


def test_figures_measured_in_the_notebook_are_shown(half, capsys):
    claims_table("94", measured={"94.half": 5})
    assert "1 of 1" in capsys.readouterr().out
    with pytest.raises(ClaimFileError, match=r"94\.third"):
        claims_table("94", measured={"94.third": 5})


def test_a_figure_that_cannot_run_here_is_said(half, monkeypatch, capsys):
    def missing():
        raise Unavailable("smollm2-135m is not installed")

    monkeypatch.setattr(Claim, "function", lambda self: missing)
    claims_table("94")
    assert "not run here: smollm2-135m is not installed" in capsys.readouterr().out


def test_command_exits_1_for_a_figure_that_is_off(half, capsys):
    import argparse

    arguments = argparse.Namespace(lab=None, derived=False)
    assert claims_command.run(arguments) == 0
    half[0] = 6.0
    assert claims_command.run(arguments) == 1


@pytest.mark.skipif("claims" not in cli.COMMANDS, reason="minillm claims is not listed yet")
def test_command_line(capsys):
    assert cli.main(["claims", "--derived"]) == 0
    assert "figures within their range" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("verdict: wrong", "verdict: maybe", "maybe"),
        ("[5, 5]", "[6, 5]", "expected .low, high."),
        ("[5, 5]", "[5]", "94.half"),
        ("[5, 5]", "five", "94.half"),
        ("unit:", "units:", "units"),
        ("  source: Arithmetic.\n", "", "source"),
        ("unit: apples", "kind: guess", "guess"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, was, becomes, said):
    file = tmp_path / "claims.yaml"
    file.write_text(ROW.replace(was, becomes), encoding="utf-8")
    with pytest.raises(ClaimFileError, match=said):
        load_claims(file=file)


def test_doubled_ids_and_missing_functions_are_named(tmp_path):
    file = tmp_path / "claims.yaml"
    file.write_text(ROW + ROW, encoding="utf-8")
    with pytest.raises(ClaimFileError, match=r"more than one row with id 94\.half"):
        load_claims(file=file)
    file.write_text(ROW, encoding="utf-8")
    (claim,) = load_claims(file=file)
    with pytest.raises(ClaimFileError, match="no function 'half'"):
        check_claim(claim)
