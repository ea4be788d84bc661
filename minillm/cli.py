"""The `minillm` command: one table of subcommands, each in a module that is imported only when it runs.

A module in the table defines `add_arguments(parser)` and `run(arguments) -> int`, the exit status. The
command line is the front door of the whole package, so it may name a module of any floor, `minillm.lab`
included; it imports none of them to print its help.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from minillm import __version__
from minillm.errors import MinillmError


class Command(NamedTuple):
    """A subcommand: the module that defines it and its line in the help."""

    module: str
    summary: str


COMMANDS: dict[str, Command] = {
    "calibrate": Command(
        "minillm.calibrate", "measure this machine: bandwidth, products, a step's fixed cost"
    ),
    "claims": Command("minillm.lab.claims.command", "run the figures behind the claims, print the ledger"),
    "progress": Command("minillm.lab.overview", "show exercises, predictions and where they are kept"),
}


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    """The whole parser; only the `chosen` subcommand, if any, is imported and gets its arguments."""
    parser = argparse.ArgumentParser(prog="minillm", description="Labs on the internals of LLM inference.")
    parser.add_argument("--version", action="version", version=f"minillm {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="command")
    for name, command in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=command.summary, description=command.summary)
        if name == chosen:
            module = import_module(command.module)
            module.add_arguments(subparser)
            subparser.set_defaults(run=module.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit status; 1, after one clear line, where minillm itself gave up.

    arguments: the words after `minillm`; those of the command line by default.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = _parser(words[0] if words else None)
    options = parser.parse_args(words)
    if options.command is None:
        parser.print_help()
        return 0
    try:
        return options.run(options)
    except MinillmError as error:
        print(f"minillm {options.command}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
