"""Tokens that somebody made from a genuine one, and what is said of each."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any

Forge = Callable[[str, Mapping[str, Any]], str]


def b64(content: bytes) -> str:
    """base64url without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def part(token: str, number: int) -> bytes:
    """Header, payload or signature of a token."""
    text = token.split(".")[number]
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def with_payload(token: str, payload: bytes) -> str:
    """The token with another payload under the old signature."""
    head, _, signature = token.split(".")
    return f"{head}.{b64(payload)}.{signature}"


def with_header(token: str, **members: object) -> str:
    """The token with members of its header changed or added under the old signature."""
    _, payload, signature = token.split(".")
    return f"{b64(json.dumps({**json.loads(part(token, 0)), **members}).encode())}.{payload}.{signature}"


def with_public_key_as_secret(token: str, jwk: Mapping[str, Any]) -> str:
    """What a verifier that lets the token choose takes for genuine: an HMAC keyed with the public key."""
    head, payload, _ = with_header(token, alg="HS256").split(".")
    secret = base64.urlsafe_b64decode(jwk["x"] + "=")
    return f"{head}.{payload}.{b64(hmac.new(secret, f'{head}.{payload}'.encode(), hashlib.sha256).digest())}"


def other_spelling(token: str) -> str:
    """The same bytes with other unused bits at the end of the signature, which a lax decoder ignores."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return token[:-1] + letters[letters.index(token[-1]) ^ 1]


def _rest(token: str) -> str:
    return token.partition(".")[2]


CHANGED, ALGORITHM, UNKNOWN = "does not fit", "only algorithm", "not among the published keys"
HEADER, ENCODING, PARTS = "Its header is not that of", "not base64url", "three parts"

FORGERIES: Mapping[str, tuple[Forge, str]] = {
    "payload with a blank more": (lambda token, _: with_payload(token, part(token, 1) + b" "), CHANGED),
    "no payload": (lambda token, _: with_payload(token, b""), CHANGED),
    "signature of zeros": (lambda token, _: f"{token.rpartition('.')[0]}.{b64(bytes(64))}", CHANGED),
    "no signature": (lambda token, _: f"{token.rpartition('.')[0]}.", CHANGED),
    "alg none": (lambda token, _: with_header(token, alg="none"), ALGORITHM),
    "alg none and no signature": (lambda token, _: f"{with_header(token, alg='none').rpartition('.')[0]}.", ALGORITHM),
    "HS256 with the public key": (with_public_key_as_secret, ALGORITHM),
    "EdDSA of any curve": (lambda token, _: with_header(token, alg="EdDSA"), ALGORITHM),
    "alg of another type": (lambda token, _: with_header(token, alg=["Ed25519"]), ALGORITHM),
    "unknown kid": (lambda token, _: with_header(token, kid="unknown"), UNKNOWN),
    "kid null": (lambda token, _: with_header(token, kid=None), UNKNOWN),
    "kid of another type": (lambda token, _: with_header(token, kid=["a"]), UNKNOWN),
    "another typ": (lambda token, _: with_header(token, typ="other+jws"), HEADER),
    "payload not encoded": (lambda token, _: with_header(token, crit=["b64"], b64=False), HEADER),
    "a key of its own": (lambda token, jwk: with_header(token, jwk=jwk), HEADER),
    "header a list": (lambda token, _: f"{b64(b'[]')}.{_rest(token)}", "not an object"),
    "header deeply nested": (lambda token, _: f"{b64(b'[' * 100_000)}.{_rest(token)}", "not JSON"),
    "two parts": (lambda token, _: token.rpartition(".")[0], PARTS),
    "four parts": (lambda token, _: f"{token}.x", PARTS),
    "empty": (lambda _token, _: "", PARTS),
    "huge": (lambda token, _: token * 20_000, PARTS),
    "padded": (lambda token, _: f"{token}=", ENCODING),
    "spelt otherwise": (lambda token, _: other_spelling(token), ENCODING),
    "a letter that is none": (lambda token, _: token.replace(".", ".!", 1), ENCODING),
    "not ASCII": (lambda token, _: f"é{token}", ENCODING),
}
