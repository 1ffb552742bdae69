"""Verify a receipt offline: with the published keys of its issuer, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from olvido.adapters.signatures import NotSignedError, published_keys, verify
from olvido.domain.receipt import RECEIPT_TYPE, VerifiedReceipt, read_receipt
from olvido.errors import InvalidInput, InvalidReceipt


def verify_receipt(token: str, jwks: Mapping[str, object]) -> VerifiedReceipt:
    """What the issuer signed, and with which key. No database is asked, and no network.

    token: as `memory.receipt` gave it. jwks: the published keys of the issuer, as `olvido keys publish` prints them;
    get them from the issuer and not from whoever brings the receipt.
    Raises InvalidReceipt if the receipt was changed, signed otherwise or by a key that is not in the set, and
    InvalidInput if the set is none, or the receipt no text.
    """
    if not isinstance(token, str):
        raise InvalidInput("A receipt is text of one line. Decode what was read of its file.")
    keys = published_keys(jwks)
    try:
        payload, signed_by = verify(token.strip(), keys, token_type=RECEIPT_TYPE)
    except NotSignedError as error:
        raise InvalidReceipt(f"This receipt proves nothing. {error}") from None
    return VerifiedReceipt(receipt=read_receipt(payload), key_id=signed_by)
