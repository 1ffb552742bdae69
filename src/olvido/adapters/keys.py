"""The keys that sign: files in a directory of their own, never in the database, in its directory or in its backup.

    signing.jwk          the private key in use, Ed25519 as a JWK; nobody but its owner reads it
    jwks.json            the published keys: the public parts of this one and of those before it
    audit-anchors.log    how far the audit was sealed (`olvido.adapters.anchors`)
    lock                 held while somebody writes

A rotation keeps the public part of the old key and nothing else of it: it will never sign again.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olvido.adapters.private_directory import PrivateDirectory
from olvido.adapters.signatures import ALGORITHM, ISSUED, key_id, public_jwk, sign
from olvido.errors import KeysUnavailable

if TYPE_CHECKING:
    from joserfc.jwk import OKPKey

VARIABLE = "OLVIDO_KEYS"
SIGNING = "signing.jwk"
PUBLISHED = "jwks.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rotation:
    """What a rotation did. retired: the key id that signed until now; None if there was no key. published: how many."""

    key_id: str
    retired: str | None
    published: int


class KeyDirectory:
    """The keys of one installation. Processes and hosts that share the directory share the keys.

    path: made, with its first key, when something is signed or published first. like: as `PrivateDirectory` takes it.
    now: seconds since 1970, which a new key is published with. Every method raises KeysUnavailable, which says what to
    do.
    """

    def __init__(self, path: Path, *, like: Path | None = None, now: Callable[[], float] = time.time) -> None:
        self.files = PrivateDirectory(path, like=like)
        self._now = now

    @property
    def published_in(self) -> Path:
        """The file of the public keys."""
        return self.files.path / PUBLISHED

    async def prepare(self) -> None:
        """Make the first key if there is none yet, so that nothing is dated before the key that signs it."""
        await asyncio.to_thread(self.published)

    async def sign(self, payload: bytes, *, token_type: str) -> str:
        """`payload` signed with the key in use, as a compact JWS."""
        return await asyncio.to_thread(self.sign_now, payload, token_type=token_type)

    def sign_now(self, payload: bytes, *, token_type: str) -> str:
        """As `sign`. The key is read each time, so that a rotation counts at once in every process."""
        with self.explained():
            return sign(payload, self._key(), token_type=token_type)

    def published(self) -> dict[str, Any]:
        """The public keys as a set (RFC 7517): every key that ever signed here, the one in use first."""
        with self.explained():
            current = key_id(self._key())
            keys = self._jwks()["keys"]
        return {"keys": sorted(keys, key=lambda entry: entry["kid"] != current)}

    def verifying(self) -> dict[str, Any]:
        """The public keys, as they are: none is made if there is none yet."""
        with self.explained():
            return self._jwks()

    def rotate(self) -> Rotation:
        """Sign with a new key from now on, also if the old one is lost or damaged."""
        with self.explained(), self.files.alone():
            text = self.files.read(SIGNING, secret=True)
            old = None if text is None else _understood(text)
            if old is not None:
                self._publish(old)
            new = self._make()
            published = len(self._jwks()["keys"])
        return Rotation(key_id=key_id(new), retired=None if old is None else key_id(old), published=published)

    def _key(self) -> OKPKey:
        """The key in use; the first one is made here."""
        text = self.files.read(SIGNING, secret=True)
        if text is None or not self._is_published(text):
            with self.files.alone():
                text = self.files.read(SIGNING, secret=True)
                if text is not None:
                    # Its process died before it published this one, or the set is a copy of before.
                    self._publish(self._read(text))
                elif self.files.read(PUBLISHED) is not None:
                    raise KeysUnavailable(
                        f"The signing key {self.files.path / SIGNING} is gone. Bring it back from your copy, or sign "
                        "with a new one from now on: `olvido keys rotate`. Old receipts verify with the published keys."
                    )
                else:
                    return self._make()
        return self._read(text)

    def _make(self) -> OKPKey:
        from joserfc.jwk import OKPKey

        key = OKPKey.generate_key(ALGORITHM)
        # In this order, a process that dies in between leaves a key that the next one publishes.
        self.files.replace(SIGNING, json.dumps({**key.as_dict(private=True), "kid": key_id(key)}) + "\n")
        self._publish(key, since=int(self._now()))
        return key

    def _publish(self, key: OKPKey, *, since: int | None = None) -> None:
        """since: when it was made, seconds since 1970; None is not known any more."""
        keys = self._jwks()["keys"]
        if key_id(key) not in {entry["kid"] for entry in keys}:
            made = {} if since is None else {ISSUED: since}
            document = {"keys": [{**public_jwk(key), **made}, *keys]}
            self.files.replace(PUBLISHED, json.dumps(document, indent=2) + "\n", mode=0o644)

    def _is_published(self, text: str) -> bool:
        return key_id(self._read(text)) in {entry["kid"] for entry in self._jwks()["keys"]}

    def _jwks(self) -> dict[str, Any]:
        text = self.files.read(PUBLISHED)
        if text is None:
            return {"keys": []}
        try:
            found = json.loads(text)
            if all(isinstance(entry["kid"], str) for entry in found["keys"]):
                return {"keys": list(found["keys"])}
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        raise KeysUnavailable(
            f"{self.files.path / PUBLISHED} is not a set of keys any more. Bring it back from your copy: without the "
            "keys of before, old receipts cannot be verified."
        )

    def _read(self, text: str) -> OKPKey:
        key = _understood(text)
        if key is None:
            raise KeysUnavailable(
                f"{self.files.path / SIGNING} is not a private {ALGORITHM} key. Bring it back from your copy, or sign "
                "with a new one from now on: `olvido keys rotate`."
            )
        return key

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Tell what the file system said no to, and what to do about it."""
        try:
            yield
        except OSError as error:
            said = error.strerror or str(error)
            raise KeysUnavailable(
                f"The keys directory {self.files.path} cannot be used: {said}. Let the user who runs this program own "
                f"it alone, or name another one with {VARIABLE}."
            ) from None


def _understood(text: str) -> OKPKey | None:
    """A private key, or None for anything else: what it would sign has to verify with the public part beside it."""
    from joserfc.errors import JoseError
    from joserfc.jwk import OKPKey

    try:
        found = json.loads(text)
        key = OKPKey.import_key({name: found[name] for name in ("kty", "crv", "x", "d")})
        is_whole = key.is_private and found["crv"] == ALGORITHM and _derived(key) == found["x"]
    except (JoseError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return key if is_whole else None


def _derived(key: OKPKey) -> object:
    """The public part that belongs to the private one, as a JWK has it."""
    from joserfc.jwk import OKPKey

    return OKPKey.import_key(key.as_pem(private=True)).as_dict(private=False)["x"]
