"""The signing keys as files: made once, private, rotated, lost; and what a signature accepts."""

from __future__ import annotations

import hashlib
import json
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from olvido.adapters.keys import PUBLISHED, SIGNING, VARIABLE, KeyDirectory
from olvido.adapters.signatures import NotSignedError, published_keys, read_jwks, verify
from olvido.bootstrap import keys_directory
from olvido.errors import InvalidInput, KeysUnavailable
from tests.adapters.forgery import FORGERIES, Forge, b64, part

KIND = "test+jws"

# RFC 8037, appendix A: the key of A.1, its thumbprint of A.3, and the signature of A.4 (whose header names no key).
RFC_KEY = {
    "kty": "OKP",
    "crv": "Ed25519",
    "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
    "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
}
RFC_THUMBPRINT = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


@pytest.fixture
def keys(tmp_path: Path) -> KeyDirectory:
    """A directory that is not there yet."""
    return KeyDirectory(tmp_path / "keys")


def mode(path: Path) -> int:
    """The permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def signed_by(token: str) -> str:
    """The key that a token names."""
    return str(json.loads(part(token, 0))["kid"])


def opened(token: str, jwks: Mapping[str, object]) -> bytes:
    """What was signed."""
    return verify(token, published_keys(jwks), token_type=KIND)[0]


async def test_the_first_key_is_made_when_it_is_needed_and_only_its_owner_reads_it(keys: KeyDirectory) -> None:
    """Nothing is there before; then a private directory and key, named by its thumbprint as RFC 7638 computes it."""
    assert not keys.files.path.exists()
    assert keys.verifying() == {"keys": []}
    token = await keys.sign(b"payload", token_type=KIND)
    assert mode(keys.files.path) == 0o700
    assert mode(keys.files.path / SIGNING) == 0o600
    (published,) = keys.published()["keys"]
    members = {name: published[name] for name in ("crv", "kty", "x")}
    thumbprint = b64(hashlib.sha256(json.dumps(members, separators=(",", ":"), sort_keys=True).encode()).digest())
    assert signed_by(token) == published["kid"] == thumbprint
    assert "d" not in published
    assert (keys.files.path / ".gitignore").read_text() == "*\n"
    assert opened(token, keys.published()) == b"payload"


def test_keys_are_named_and_sign_as_the_standard_says(keys: KeyDirectory) -> None:
    """The key of RFC 8037 gets the thumbprint that the RFC prints, and a signature that its public part verifies."""
    with keys.files.alone():
        keys.files.replace(SIGNING, json.dumps(RFC_KEY))
    token = keys.sign_now(b"Example of Ed25519 signing", token_type=KIND)
    assert signed_by(token) == RFC_THUMBPRINT
    alone = {"keys": [{name: RFC_KEY[name] for name in ("kty", "crv", "x")}]}
    assert opened(token, alone) == b"Example of Ed25519 signing"


def test_processes_that_start_at_once_make_one_key(keys: KeyDirectory) -> None:
    """Each of several processes finds no key and needs one: all sign with the same."""
    code = (
        "import sys; from pathlib import Path; from olvido.adapters.keys import KeyDirectory; sys.stdin.readline(); "
        "print(KeyDirectory(Path(sys.argv[1])).sign_now(b'x', token_type='t'))"
    )
    command = [sys.executable, "-c", code, str(keys.files.path)]
    started = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    tokens = [process.communicate()[0].strip() for process in started]
    assert {signed_by(token) for token in tokens} == {keys.published()["keys"][0]["kid"]}
    assert len(keys.published()["keys"]) == 1


def test_a_rotation_keeps_the_public_part_of_the_old_key_and_nothing_else(keys: KeyDirectory) -> None:
    """Old signatures verify, new ones are of the new key, and the old private part is in no file any more."""
    old = keys.sign_now(b"before", token_type=KIND)
    private = json.loads((keys.files.path / SIGNING).read_text())["d"]
    other_process = KeyDirectory(keys.files.path)
    rotation = keys.rotate()
    new = other_process.sign_now(b"after", token_type=KIND)
    assert (rotation.retired, rotation.key_id, rotation.published) == (signed_by(old), signed_by(new), 2)
    published = keys.published()
    assert [entry["kid"] for entry in published["keys"]] == [signed_by(new), signed_by(old)]
    assert [opened(token, published) for token in (old, new)] == [b"before", b"after"]
    assert all(private not in path.read_text() for path in keys.files.path.iterdir() if path.is_file())
    with pytest.raises(NotSignedError, match="not among the published keys"):
        opened(new, {"keys": [entry for entry in published["keys"] if entry["kid"] == signed_by(old)]})


def test_a_lost_key_is_not_replaced_in_silence(keys: KeyDirectory) -> None:
    """Signing says what to do; a rotation goes on with a new key, and what the lost one signed still verifies."""
    old = keys.sign_now(b"before", token_type=KIND)
    (keys.files.path / SIGNING).unlink()
    for call in (lambda: keys.sign_now(b"x", token_type=KIND), keys.published):
        with pytest.raises(KeysUnavailable, match="olvido keys rotate"):
            call()
    assert opened(old, keys.verifying()) == b"before"
    assert keys.rotate().retired is None
    assert opened(old, keys.published()) == b"before"
    assert opened(keys.sign_now(b"after", token_type=KIND), keys.published()) == b"after"


def test_a_key_whose_maker_died_before_publishing_it_is_published(keys: KeyDirectory) -> None:
    """The next one who signs publishes it, so that no signature is of an unknown key."""
    keys.sign_now(b"x", token_type=KIND)
    (keys.files.path / PUBLISHED).unlink()
    token = keys.sign_now(b"y", token_type=KIND)
    assert opened(token, keys.verifying()) == b"y"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"kty": "OKP"}', json.dumps({**RFC_KEY, "d": "!"}), "null"])
def test_a_damaged_key_is_said_to_be_damaged(keys: KeyDirectory, content: str) -> None:
    """No other error, nothing of the file in the message, and a rotation mends it."""
    keys.sign_now(b"x", token_type=KIND)
    (keys.files.path / SIGNING).write_text(content)
    with pytest.raises(KeysUnavailable, match="not a private Ed25519 key") as caught:
        keys.sign_now(b"x", token_type=KIND)
    assert RFC_KEY["x"] not in str(caught.value)
    keys.rotate()
    assert opened(keys.sign_now(b"z", token_type=KIND), keys.published()) == b"z"


@pytest.mark.parametrize("content", ["", "{}", '{"keys": [1]}', "[]", '{"keys": [{}]}'])
def test_damaged_published_keys_are_not_written_over(keys: KeyDirectory, content: str) -> None:
    """They are needed for old signatures, so that nobody throws them away unasked."""
    keys.sign_now(b"x", token_type=KIND)
    (keys.files.path / PUBLISHED).write_text(content)
    for call in (keys.published, keys.rotate, lambda: keys.sign_now(b"x", token_type=KIND)):
        with pytest.raises(KeysUnavailable, match="not a set of keys"):
            call()
    assert (keys.files.path / PUBLISHED).read_text() == content


def test_a_key_that_others_can_read_is_refused(keys: KeyDirectory) -> None:
    """As is a directory in which others could exchange it; the message says how to close it."""
    keys.sign_now(b"x", token_type=KIND)
    (keys.files.path / SIGNING).chmod(0o644)
    with pytest.raises(KeysUnavailable, match="chmod"):
        keys.sign_now(b"x", token_type=KIND)
    (keys.files.path / SIGNING).chmod(0o600)
    keys.files.path.chmod(0o777)
    with pytest.raises(KeysUnavailable, match="chmod"):
        keys.rotate()


def test_a_place_that_cannot_be_a_directory_is_named(tmp_path: Path) -> None:
    """The error is typed, names the place, and how to choose another one."""
    (tmp_path / "file").write_text("")
    with pytest.raises(KeysUnavailable, match=VARIABLE):
        KeyDirectory(tmp_path / "file" / "keys").sign_now(b"x", token_type=KIND)


def test_where_the_keys_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the data directory, or where they are said to be; never inside it; nowhere for a URL alone."""
    monkeypatch.delenv(VARIABLE, raising=False)
    home = tmp_path / ".olvido"

    def place(keys: str | Path | None, target: str | Path | None) -> Path | None:
        found = keys_directory(keys, target)
        return None if found is None else found.files.path

    assert place(None, home) == tmp_path / ".olvido-keys"
    assert place(tmp_path / "elsewhere", home) == tmp_path / "elsewhere"
    assert place(None, "postgresql://app@db/olvido") is None
    assert place("/etc/olvido/keys", "postgresql://app@db/olvido") == Path("/etc/olvido/keys")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "named"))
    assert place(None, home) == place(None, "postgresql://app@db/olvido") == tmp_path / "named"
    for inside in (home, home / "keys", home / ".." / ".olvido" / "keys"):
        with pytest.raises(InvalidInput, match="inside the data directory"):
            place(inside, home)
    assert not home.exists()


@pytest.mark.parametrize("forge, said", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_token_is_not_taken(keys: KeyDirectory, forge: Forge, said: str) -> None:
    """Whatever was changed, and whatever the token says about how to verify it, it is refused with the reason."""
    token = keys.sign_now(b'{"a":1}', token_type=KIND)
    published = keys.published()
    assert opened(token, published) == b'{"a":1}'
    with pytest.raises(NotSignedError, match=said):
        opened(forge(token, published["keys"][0]), published)


def test_a_key_is_what_it_is_and_not_what_a_set_calls_it(keys: KeyDirectory, tmp_path: Path) -> None:
    """Another key under the name of the right one does not verify, and does not take its place."""
    token = keys.sign_now(b"x", token_type=KIND)
    stranger = KeyDirectory(tmp_path / "stranger")
    (theirs,) = stranger.published()["keys"]
    with pytest.raises(NotSignedError, match="not among the published keys"):
        opened(token, {"keys": [{**theirs, "kid": signed_by(token)}]})
    assert opened(token, {"keys": [{**theirs, "kid": signed_by(token)}, *keys.published()["keys"]]}) == b"x"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"keys": {}}', '{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "!"}]}', "[" * 100_000]
)
def test_a_set_of_keys_that_is_none_is_refused(text: str) -> None:
    """A typed error, whatever the file is."""
    with pytest.raises(InvalidInput):
        published_keys(read_jwks(text))


def test_keys_of_other_kinds_are_passed_over(keys: KeyDirectory) -> None:
    """A set may hold keys for other purposes, as published sets do."""
    token = keys.sign_now(b"x", token_type=KIND)
    others: list[object] = [{"kty": "RSA", "n": "AQAB", "e": "AQAB"}, {"kty": "OKP", "crv": "X25519", "x": "AA"}, "no"]
    assert opened(token, {"keys": [*others, *keys.published()["keys"]]}) == b"x"


@pytest.mark.parametrize("member", ["d", "x"])
def test_a_key_whose_parts_do_not_fit_signs_nothing(keys: KeyDirectory, member: str) -> None:
    """What it would sign nobody could verify; a rotation neither publishes nor retires it."""
    old = keys.sign_now(b"before", token_type=KIND)
    found = json.loads((keys.files.path / SIGNING).read_text())
    found[member] = RFC_KEY[member]
    (keys.files.path / SIGNING).write_text(json.dumps(found))
    with pytest.raises(KeysUnavailable, match="not a private Ed25519 key"):
        keys.sign_now(b"x", token_type=KIND)
    rotation = keys.rotate()
    assert (rotation.retired, rotation.published) == (None, 2)
    assert opened(old, keys.published()) == b"before"


@pytest.mark.parametrize("content", [b"\x80\x81\xff", b"[" * 100_000], ids=["bytes", "nested"])
def test_a_key_that_is_no_text_any_more_is_rotated_away(keys: KeyDirectory, content: bytes) -> None:
    """Whatever became of the file, signing says what to do, and a rotation goes on."""
    keys.sign_now(b"before", token_type=KIND)
    (keys.files.path / SIGNING).write_bytes(content)
    with pytest.raises(KeysUnavailable, match="olvido keys rotate"):
        keys.sign_now(b"x", token_type=KIND)
    assert keys.rotate().published == 2
    (keys.files.path / PUBLISHED).write_bytes(content)
    with pytest.raises(KeysUnavailable, match="not a set of keys any more"):
        keys.verifying()
