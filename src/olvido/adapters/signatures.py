"""Signatures: Ed25519 over bytes, as a compact JWS (RFC 7515) whose header names algorithm, key and type only."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from olvido.errors import InvalidInput

if TYPE_CHECKING:
    from joserfc.jwk import OKPKey

ALGORITHM: Final = "Ed25519"
"""As RFC 9864 names it; the older name, EdDSA, leaves the curve open."""
ISSUED: Final = "iat"
"""The member of a published key with when it was made, in seconds since 1970, as OpenID Federation 1.0 has it."""
LONGEST = 16 * 1024 * 1024
"""Characters of the longest token that is looked at. One that names 100,000 records has five million."""
_HEADER = frozenset({"alg", "kid", "typ"})
_PARTS = 3
_NO_SET = 'Published keys are a JSON object with a list "keys", as `olvido keys publish` prints it.'
LATEST = 253_402_300_799
"""The last second of the year 9999."""


class NotSignedError(ValueError):
    """A token that does not prove what it says. The message says why and holds nothing of it."""


def key_id(key: OKPKey) -> str:
    """The thumbprint of a key, which is its name (RFC 7638)."""
    return key.thumbprint()


def public_jwk(key: OKPKey) -> dict[str, str]:
    """What others need in order to verify."""
    public = key.as_dict(private=False)
    return {
        "alg": ALGORITHM,
        "crv": str(public["crv"]),
        "kid": key_id(key),
        "kty": str(public["kty"]),
        "use": "sig",
        "x": str(public["x"]),
    }


def sign(payload: bytes, key: OKPKey, *, token_type: str) -> str:
    """`payload` and a signature over it, as a compact JWS."""
    from joserfc import jws

    header = {"alg": ALGORITHM, "kid": key_id(key), "typ": token_type}
    return jws.serialize_compact(header, payload, key, algorithms=[ALGORITHM])


def verify(token: str, keys: Mapping[str, OKPKey], *, token_type: str) -> tuple[bytes, str]:
    """What was signed, and the id of the one of `keys` that signed it. Raises NotSignedError."""
    from joserfc import jws
    from joserfc.errors import JoseError

    header, payload = opened(token)
    if set(header) != _HEADER or header["typ"] != token_type:
        raise NotSignedError(f"Its header is not that of a {token_type}.")
    # The token never chooses how it is verified: "none", and a public key used as a shared secret, end here.
    if header["alg"] != ALGORITHM:
        raise NotSignedError(f"It is not signed with {ALGORITHM}, which is the only algorithm that is accepted.")
    key = keys.get(header["kid"]) if isinstance(header["kid"], str) else None
    if key is None:
        raise NotSignedError("It names a key that is not among the published keys. Verify it with those of its issuer.")
    registry = jws.JWSRegistry(algorithms=[ALGORITHM])
    registry.max_payload_length = LONGEST
    try:
        jws.deserialize_compact(token, key, algorithms=[ALGORITHM], registry=registry)
    except (JoseError, ValueError):
        raise NotSignedError("Its signature does not fit: it was changed, or another key signed it.") from None
    return payload, header["kid"]


def opened(token: str) -> tuple[dict[str, Any], bytes]:
    """Header and payload of a token, not verified. Raises NotSignedError for what is not a compact JWS."""
    parts = token.split(".") if len(token) <= LONGEST else ()
    if len(parts) != _PARTS:
        raise NotSignedError("It is not a compact JWS, which is three parts with two dots between them.")
    try:
        header, payload, _ = (_decoded(part) for part in parts)
        found = json.loads(header)
    except (ValueError, RecursionError):
        raise NotSignedError("A part of it is not base64url, or its header is not JSON.") from None
    if not isinstance(found, dict):
        raise NotSignedError("The header of this token is not an object.")
    return found, payload


def published_keys(jwks: Mapping[str, object]) -> dict[str, OKPKey]:
    """The Ed25519 keys of a set (RFC 7517), by thumbprint, whatever the set calls them. Raises InvalidInput."""
    from joserfc.errors import JoseError
    from joserfc.jwk import OKPKey

    if not isinstance(jwks, Mapping):
        raise InvalidInput(_NO_SET)
    entries = jwks.get("keys")
    if not isinstance(entries, list):
        raise InvalidInput(_NO_SET)
    keys: dict[str, OKPKey] = {}
    for entry in entries:
        if not isinstance(entry, dict) or (entry.get("kty"), entry.get("crv")) != ("OKP", ALGORITHM):
            continue
        try:
            key = OKPKey.import_key({name: entry[name] for name in ("kty", "crv", "x")})
            keys[key_id(key)] = key
        except (JoseError, ValueError, KeyError, TypeError):
            raise InvalidInput("One of the published keys is not an Ed25519 key as a JWK. Get the set again.") from None
    return keys


def key_since(jwks: Mapping[str, object], wanted: str) -> datetime | None:
    """When a key of a set was made, by its thumbprint and as the set says; None if it does not."""
    entries = jwks.get("keys")
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and wanted in published_keys({"keys": [entry]}):
            since = entry.get(ISSUED)
            return datetime.fromtimestamp(since, UTC) if type(since) is int and 0 <= since <= LATEST else None
    return None


def read_jwks(text: str) -> dict[str, object]:
    """Published keys from JSON. Raises InvalidInput."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput("The published keys are not JSON. Get them again with `olvido keys publish`.") from None
    if not isinstance(found, dict):
        raise InvalidInput("The published keys are not a JSON object. Get them again with `olvido keys publish`.")
    return found


def _decoded(part: str) -> bytes:
    """base64url without padding, in the one spelling that it has."""
    try:
        decoded = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        raise ValueError from None
    if base64.urlsafe_b64encode(decoded).rstrip(b"=").decode() != part:
        raise ValueError
    return decoded
