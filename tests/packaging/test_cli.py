"""The command line: its help names every subcommand, and a failure is one line."""

import argparse
import subprocess
import sys
from importlib import import_module

import pytest

from minillm import __version__, cli
from minillm.errors import ModelNotFound


class Fake:
    """A subcommand's module."""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--fail", action="store_true")

    @staticmethod
    def run(options: argparse.Namespace) -> int:
        if options.fail:
            raise ModelNotFound("no model 'gpt': load tiny")
        return 7


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli.COMMANDS, "fake", cli.Command("fake_module", "do nothing"))
    monkeypatch.setitem(sys.modules, "fake_module", Fake)


def test_a_subcommand_returns_its_exit_status(fake: None) -> None:
    assert cli.main(["fake"]) == 7


def test_a_known_failure_is_one_line(fake: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fake", "--fail"]) == 1
    assert capsys.readouterr().err == "minillm fake: no model 'gpt': load tiny\n"


def test_no_subcommand_shows_the_help(fake: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    text = capsys.readouterr().out
    for name, command in cli.COMMANDS.items():
        assert name in text and command.summary in text


def test_an_unknown_subcommand_is_refused(fake: None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["nonsense"])
    assert stop.value.code == 2
    assert "invalid choice: 'nonsense'" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_each_module_of_the_table_keeps_its_contract(name: str) -> None:
    module = import_module(cli.COMMANDS[name].module)
    module.add_arguments(argparse.ArgumentParser())
    assert callable(module.run)


def test_the_installed_command_answers() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "minillm.cli", "--version"], capture_output=True, text=True
    )
    assert answer.stdout.strip() == f"minillm {__version__}"
