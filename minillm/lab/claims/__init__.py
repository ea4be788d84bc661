"""The claims ledger: what people say, what holds, and the function that shows it."""

from minillm.lab.claims.ledger import (
    Checked,
    Claim,
    ClaimFileError,
    Unavailable,
    check_claim,
    claims_table,
    load_claims,
)

__all__ = ["Checked", "Claim", "ClaimFileError", "Unavailable", "check_claim", "claims_table", "load_claims"]
