"""The tree of errors: drawn as it is, with stable codes, and never a value of anybody in a message."""

from __future__ import annotations

import inspect
import logging
import re
import traceback
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

import olvido
from olvido import Memory, Origin, ScopedMemory, errors
from olvido.errors import OlvidoError
from olvido.testing import ManualClock
from tests.cases.support import dump, served
from tests.conftest import Clone

CANARY = "canary" + "7c1f"
"""In every argument of every call below; put together, so that a traceback's source lines do not hold it."""
LONG = CANARY * 60
SAID = Origin.declared("chat", ref=f"ref-{CANARY}", actor=f"actor-{CANARY}")
SEEN = Origin.observed("crm", ref=f"ref-{CANARY}")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001 - what is to be refused

CLASSES: dict[str, type[OlvidoError]] = {
    kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, OlvidoError)
}

Call = Callable[[ScopedMemory], Awaitable[object]]


def drawn() -> dict[str, str]:
    """Each error of the drawing at the top of the module, with the one above it."""
    above: list[str] = []
    found: dict[str, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        match = re.fullmatch(r" {4}((?:[│ ] {3})*(?:[├└]── )?)(\w+)(?: +\S.*)?", line)
        if match is None:
            continue
        depth = len(match[1]) // 4
        del above[depth:]
        found[match[2]] = above[-1] if above else "Exception"
        above.append(match[2])
    return found


def test_the_drawing_is_the_tree() -> None:
    """The tree at the top of errors.py names every class once, under the class that it derives from."""
    assert drawn() == {name: found.__bases__[0].__name__ for name, found in CLASSES.items()}


def test_every_error_has_a_code_of_its_own() -> None:
    """Codes are unique and stable words; HTTP status and exit code are those of the branch, none means success."""
    codes = [found.code for found in CLASSES.values()]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z_]+", code) for code in codes)
    assert all("code" in vars(found) and inspect.getdoc(found) for found in CLASSES.values())
    assert all(400 <= found.http_status < 600 and 0 < found.exit_code < 64 for found in CLASSES.values())
    branches = [errors.InvalidInput, errors.Refused, errors.NotFound, errors.Conflict, errors.Unavailable]
    assert len({branch.exit_code for branch in branches}) == len(branches)
    for branch in branches:
        assert {found.exit_code for found in CLASSES.values() if branch in found.__mro__} == {branch.exit_code}


async def stored_before(memory: Memory) -> ScopedMemory:
    """A person of whom something is stored, all of it with the canary."""
    who = memory.scope(tenant="altavela", subject=f"ines-{CANARY}")
    await who.set_preference("display_name", f"{CANARY} now", origin=SAID)
    await who.correct_preference("display_name", f"{CANARY} later", origin=SAID)
    await who.record_episode(
        "support-case",
        event_id=f"ev-{CANARY}",
        case_id=f"case-{CANARY}",
        status="open",
        occurred_at=NOW,
        origin=SEEN,
        fields={"summary": f"lost {CANARY}"},
    )
    session = who.session(f"open-{CANARY}")
    await session.open(goal=f"goal {CANARY}")
    await session.append("user", f"hello {CANARY}")
    await who.session(f"closed-{CANARY}").open(goal=f"goal {CANARY}")
    await who.session(f"closed-{CANARY}").close()
    return who


def _case(**changes: Any) -> Call:  # noqa: ANN401 - any wrong argument
    """Record the stored event again, with `changes`."""
    same: dict[str, Any] = {
        "event_id": f"ev-{CANARY}",
        "case_id": f"case-{CANARY}",
        "status": "open",
        "occurred_at": NOW,
        "origin": SEEN,
        "fields": {"summary": f"lost {CANARY}"},
    }
    return lambda who: who.record_episode("support-case", **{**same, **changes})


def _set(key: Any, value: Any, **changes: Any) -> Call:  # noqa: ANN401 - any wrong argument
    given = {"origin": SAID, **changes}
    return lambda who: who.set_preference(key, value, **given)


def _correct(key: Any, value: Any, **changes: Any) -> Call:  # noqa: ANN401 - any wrong argument
    given = {"origin": SAID, **changes}
    return lambda who: who.correct_preference(key, value, **given)


BAD: dict[str, tuple[Call, type[OlvidoError]]] = {
    "key of words": (_set(f"my secret {CANARY}", "x"), errors.NotInPolicy),
    "key long": (_set(LONG, "x"), errors.NotInPolicy),
    "key no text": (_set([CANARY], "x"), errors.NotInPolicy),
    "live state": (_set("payment", CANARY), errors.LiveState),
    "choice": (_set("language", CANARY), errors.InvalidValue),
    "value long": (_set("display_name", LONG), errors.InvalidValue),
    "value lines": (_set("display_name", f"{CANARY}\n{CANARY}"), errors.InvalidValue),
    "value nul": (_set("display_name", f"{CANARY}\0"), errors.InvalidValue),
    "value no text": (_set("display_name", {CANARY: CANARY}), errors.InvalidValue),
    "value secret": (_set("display_name", f"password: {CANARY}9"), errors.SecretRefused),
    "no origin": (_set("display_name", CANARY, origin=None), errors.InvalidInput),
    "origin text": (_set("display_name", CANARY, origin=CANARY), errors.InvalidInput),
    "origin inferred": (_set("display_name", CANARY, origin=Origin.inferred(CANARY)), errors.OriginNotAccepted),
    "origin weaker": (_set("display_name", CANARY, origin=Origin.observed(CANARY)), errors.WeakerOrigin),
    "older": (
        _set("display_name", CANARY, origin=Origin.declared(CANARY, at=NOW - timedelta(days=1))),
        errors.OlderStatement,
    ),
    "future": (
        _set("display_name", CANARY, origin=Origin.declared(CANARY, at=NOW + timedelta(days=1))),
        errors.InvalidTime,
    ),
    "version": (_correct("display_name", CANARY, expected_version=7), errors.VersionConflict),
    "version no number": (_set("display_name", CANARY, expected_version=CANARY), errors.InvalidInput),
    "version true": (_set("display_name", CANARY, expected_version=True), errors.InvalidInput),
    "nothing to correct": (_correct("contact_channel", "email"), errors.NotFound),
    "end naive": (_set("display_name", CANARY, expires_at=NAIVE), errors.InvalidTime),
    "end past": (_set("display_name", CANARY, expires_at=NOW), errors.InvalidTime),
    "end text": (_set("display_name", CANARY, expires_at=CANARY), errors.InvalidTime),
    "get key": (lambda who: who.get_preference(f"my {CANARY}"), errors.NotInPolicy),
    "history key": (lambda who: who.history(f"{CANARY} {CANARY}"), errors.NotInPolicy),
    "definition": (
        lambda who: who.record_episode(f"my {CANARY}", event_id="ev", occurred_at=NOW, origin=SEEN),
        errors.NotInPolicy,
    ),
    "event long": (_case(event_id=LONG), errors.InvalidScope),
    "event nul": (_case(event_id=f"{CANARY}\0"), errors.InvalidScope),
    "case long": (_case(case_id=LONG), errors.InvalidScope),
    "case no text": (_case(case_id=[CANARY]), errors.InvalidScope),
    "status": (_case(status=CANARY), errors.InvalidValue),
    "field long": (_case(fields={"title": LONG}), errors.InvalidValue),
    "field no text": (_case(fields={"summary": [CANARY]}), errors.InvalidValue),
    "fields no mapping": (_case(fields=CANARY), errors.InvalidValue),
    "fields no names": (_case(fields={7: CANARY}), errors.InvalidValue),
    "other body": (_case(fields={"summary": f"found {CANARY}"}), errors.EventConflict),
    "other status": (_case(status="closed"), errors.EventConflict),
    "happened later": (_case(occurred_at=NOW + timedelta(days=1)), errors.InvalidTime),
    "happened naive": (_case(occurred_at=NAIVE), errors.InvalidTime),
    "note long": (lambda who: who.remember(LONG * 2), errors.InvalidValue),
    "note language": (lambda who: who.remember(CANARY, language=CANARY), errors.InvalidValue),
    "note inferred": (lambda who: who.remember(CANARY, origin=Origin.inferred(CANARY)), errors.OriginNotAccepted),
    "get id": (lambda who: who.get_episode(CANARY), errors.InvalidScope),
    "get missing": (lambda who: who.get_episode(uuid4()), errors.NotFound),
    "forget words": (lambda who: who.forget(f"forget {CANARY}"), errors.InvalidScope),
    "reopen missing": (lambda who: who.forget(uuid4(), reopen_previous=True), errors.NotFound),
    "reopen dry": (lambda who: who.forget(uuid4(), reopen_previous=True, dry_run=True), errors.NotFound),
    "list status": (lambda who: who.episodes(status=CANARY), errors.InvalidValue),
    "list definition": (lambda who: who.episodes(definition=f"my {CANARY}"), errors.NotInPolicy),
    "list cursor": (lambda who: who.episodes(cursor=CANARY), errors.InvalidCursor),
    "list limit": (lambda who: who.episodes(limit=CANARY), errors.InvalidInput),  # type: ignore[arg-type]
    "summaries case": (lambda who: who.summaries(case_id=LONG), errors.InvalidScope),
    "query long": (lambda who: who.recall(CANARY * 400), errors.InvalidValue),
    "query nul": (lambda who: who.recall(f"{CANARY}\0"), errors.InvalidValue),
    "query no text": (lambda who: who.recall([CANARY]), errors.InvalidValue),  # type: ignore[arg-type]
    "purpose": (lambda who: who.recall(CANARY, purpose=CANARY), errors.NotInPolicy),
    "kinds": (lambda who: who.recall(CANARY, kinds=[CANARY]), errors.InvalidValue),  # type: ignore[list-item]
    "origin class": (lambda who: who.recall(CANARY, origin_class=CANARY), errors.InvalidValue),  # type: ignore[arg-type]
    "since": (lambda who: who.recall(CANARY, since=NAIVE), errors.InvalidTime),
    "until": (lambda who: who.recall(CANARY, since=NOW, until=NOW), errors.InvalidTime),
    "limit": (lambda who: who.recall(CANARY, limit=999), errors.InvalidInput),
    "budget": (lambda who: who.context(CANARY, max_tokens=-1), errors.InvalidInput),
    "context session": (
        lambda who: who.context(CANARY, max_tokens=9, session_id=f"none-{CANARY}"),
        errors.NotFound,
    ),
    "session missing": (lambda who: who.session(f"none-{CANARY}").read(), errors.NotFound),
    "session long": (lambda who: who.session(LONG).open(), errors.InvalidScope),
    "session closed": (lambda who: who.session(f"closed-{CANARY}").append("user", CANARY), errors.SessionClosed),
    "session set closed": (lambda who: who.session(f"closed-{CANARY}").set(goal=CANARY), errors.SessionClosed),
    "session role": (lambda who: who.session(f"open-{CANARY}").append(CANARY, CANARY), errors.InvalidValue),
    "session message": (lambda who: who.session(f"open-{CANARY}").append("user", LONG * 40), errors.InvalidValue),
    "session goal": (lambda who: who.session(f"open-{CANARY}").set(goal=LONG), errors.InvalidValue),
    "session item": (lambda who: who.session(f"open-{CANARY}").set(pending=[CANARY, LONG]), errors.InvalidValue),
    "session items": (lambda who: who.session(f"open-{CANARY}").set(pending=[CANARY] * 51), errors.InvalidValue),
    "session page": (lambda who: who.session(f"open-{CANARY}").messages(limit=0), errors.InvalidInput),
    "session first": (
        lambda who: who.session(f"open-{CANARY}").messages(first=CANARY),  # type: ignore[arg-type]
        errors.InvalidInput,
    ),
    "session list": (
        lambda who: who.session(f"open-{CANARY}").set(pending=CANARY),
        errors.InvalidValue,
    ),
    "session number": (
        lambda who: who.session(f"open-{CANARY}").set(pending=7),  # type: ignore[arg-type]
        errors.InvalidValue,
    ),
    "session end": (lambda who: who.session(f"new-{CANARY}").open(expires_at=NAIVE), errors.InvalidTime),
    "fact long": (lambda who: who.session(f"open-{CANARY}").add_fact(LONG, origin=SAID), errors.InvalidValue),
    "fact message": (
        lambda who: who.session(f"open-{CANARY}").add_fact(CANARY, origin=SAID, messages=[9]),
        errors.InvalidValue,
    ),
    "hand over": (lambda who: who.session(f"open-{CANARY}").hand_over(origin=SAID), errors.NotInPolicy),
}  # fmt: skip


async def refused(call: Call, who: ScopedMemory, name: str) -> OlvidoError:
    """The error that a wrong call raises."""
    try:
        await call(who)
    except OlvidoError as error:
        return error
    pytest.fail(f"{name} was not refused")


def shown(error: BaseException) -> str:
    """Whatever a log or a terminal would show of an error, with what it came from."""
    return "".join([str(error), repr(error), repr(error.args), *traceback.format_exception(error)])


async def test_a_refusal_shows_no_value_and_stores_nothing(
    memory: Memory, clone: Clone, caplog: pytest.LogCaptureFixture
) -> None:
    """Every wrong call gets its own error, without the value passed or stored, and every table stays as it was."""
    who = await stored_before(memory)
    stored = dump(clone.superuser)
    with caplog.at_level(logging.DEBUG):
        for name, (call, expected) in BAD.items():
            error = await refused(call, who, name)
            assert type(error) is expected, name
            assert CANARY not in shown(error), name
            assert dump(clone.superuser) == stored, name
    assert CANARY not in caplog.text


async def test_a_refused_first_call_begins_no_life(memory: Memory, clone: Clone) -> None:
    """The same wrong calls about a person of whom nothing is stored leave no row in any table, nor a used-up handle."""
    stored = dump(clone.superuser)
    who = memory.scope(tenant="norbrook", subject=f"nobody-{CANARY}")
    allowed_at_first = {
        "other body", "other status", "origin weaker", "older", "session role",
    }  # fmt: skip
    for name, (call, _) in BAD.items():
        if name in allowed_at_first or name.startswith("session "):
            continue
        await refused(call, who, name)
    assert dump(clone.superuser) == stored
    await who.remember("a first memory")
    assert len(await served(who, "memory")) > 0


async def test_a_wrong_name_shows_no_value(memory: Memory) -> None:
    """What is refused before any database is asked shows no value either."""
    text: Any = CANARY
    wrong: list[Callable[[], object]] = [
        lambda: memory.scope(tenant=LONG, subject="x"),
        lambda: memory.scope(tenant="x", subject=f"{CANARY}\0"),
        lambda: memory.scope(tenant="x", subject="x", asserts=[CANARY]),
        lambda: memory.scope(tenant="x", subject="x", asserts=text),
        lambda: Origin.declared(LONG),
        lambda: Origin.declared("x", ref=f"{CANARY}\ud800"),
        lambda: Origin.declared("x", at=text),
        lambda: Origin(origin_class=text, source="x"),
        lambda: memory.scope(tenant="x", subject="x", asserts=7),  # type: ignore[arg-type]
        lambda: ManualClock(text),
        lambda: olvido.open(f"postgresql://u:{CANARY}@/x", pool_size=0),
    ]
    for call in wrong:
        with pytest.raises(errors.InvalidInput) as refusal:
            call()
        assert CANARY not in shown(refusal.value)
    with pytest.raises(errors.InvalidInput) as refusal:
        await memory.purge_expired(batch_size=text)
    assert CANARY not in shown(refusal.value)
    with pytest.raises(errors.InvalidScope) as refusal:
        await memory.forget_tenant(LONG)
    assert CANARY not in shown(refusal.value)


async def test_a_url_that_does_not_work_shows_no_password() -> None:
    """An address or a password that is wrong is not repeated."""
    with pytest.raises(errors.DatabaseUnavailable) as refusal:
        await olvido.open(f"postgresql://u:{CANARY}@127.0.0.1:1/{CANARY}", timeout=0.1)
    assert CANARY not in shown(refusal.value)


@pytest.mark.parametrize(
    "sabotage, expected",
    [
        ("ALTER TABLE olvido.episodes ADD CHECK (status <> 'closed')", errors.DatabaseUnavailable),
        ("ALTER TABLE olvido.messages ALTER COLUMN content TYPE varchar(3)", errors.OlvidoError),
        ("REVOKE INSERT ON olvido.episodes FROM olvido_app", errors.UnsafeDatabase),
    ],
)
async def test_what_the_database_says_is_not_passed_on(
    memory: Memory, clone: Clone, caplog: pytest.LogCaptureFixture, sabotage: str, expected: type[OlvidoError]
) -> None:
    """PostgreSQL quotes the failing row in its details; neither error nor log has it, and nothing was stored."""
    with psycopg.connect(clone.superuser, autocommit=True) as connection:
        connection.execute(sabotage.encode())
    stored = dump(clone.superuser)
    who = memory.scope(tenant="altavela", subject="ines")
    call = (
        who.session("s1").append("user", f"hello {CANARY}") if "messages" in sabotage else _case(status="closed")(who)
    )
    with caplog.at_level(logging.DEBUG), pytest.raises(expected) as refusal:
        await call
    assert CANARY not in shown(refusal.value)
    assert CANARY not in caplog.text
    assert dump(clone.superuser) == stored
