"""`minillm claims`: run the figures behind the claims and print the ledger."""

from __future__ import annotations

import argparse

from minillm.lab.claims.ledger import check_claim, ledger, load_claims
from minillm.lab.screen import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lab", nargs="?", help="a lab's number, like 01; all labs without it")
    parser.add_argument("--derived", action="store_true", help="only arithmetic: nothing is measured here")


def run(arguments: argparse.Namespace) -> int:
    """Print the claims with their figures; 1 when a figure fell outside its range."""
    claims = load_claims(arguments.lab)
    rows = [check_claim(claim) for claim in claims if claim.kind == "derive" or not arguments.derived]
    say(ledger(rows))
    return int(any(row.value is not None and not row.within for row in rows))
