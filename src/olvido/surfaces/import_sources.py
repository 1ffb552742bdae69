"""What other memory systems export, as records to write: notes that stay inferred, under the ids they had there.

mem0: what `Memory.get_all()`, `MemoryClient.get_all()` or its REST API answers. LangGraph: `Item.dict()` of what
`BaseStore.search()` finds, or what the store's REST API answers. Either as one JSON document or as one object a line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from functools import partial
from typing import Any, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from olvido.domain.encoding import MARK
from olvido.domain.export_document import reasons
from olvido.domain.instants import is_expired
from olvido.domain.origin import Origin
from olvido.domain.policy import Policy
from olvido.domain.records import NewEpisode
from olvido.domain.redaction import safe_name
from olvido.domain.scope import Scope
from olvido.errors import InvalidInput, InvalidValue, OlvidoError
from olvido.operations.import_tally import ends_at
from olvido.surfaces.import_lines import Progress, checked, parse
from olvido.surfaces.import_shapes import FileRecord, ImportRecord

IMPORTED = "imported-note"
SUBJECT = "{subject}"
ANY = "*"

_LISTS = ("results", "memories", "items")
_OTHER_PAGES = ("next", "previous")
_PAGING = frozenset({"count", *_OTHER_PAGES})
_TEXTS = ("content", "text", "memory", "data")
_MEM0_READ = frozenset({"id", "memory", "user_id", "created_at", "expiration_date"})
_ITEM_READ = frozenset({"namespace", "key", "value", "created_at"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """The records of a file.

    expired: how many had expired there already. unit: what their numbers count. beside: names of what else the file
    holds, of which nothing is taken.
    """

    records: tuple[ImportRecord, ...]
    expired: int
    unit: str
    beside: tuple[str, ...] = ()


class _Shape(BaseModel):
    """Typed without coercion; other names are offered to the policy, which names what it drops."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class _Mem0(_Shape):
    """A memory of mem0. expiration_date: the day after which mem0 no longer serves it."""

    id: str
    memory: str
    user_id: str | None = None
    created_at: AwareDatetime
    expiration_date: str | None = None


class _Item(_Shape):
    """An item of a LangGraph store."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    created_at: AwareDatetime


def parse_lines(content: bytes, policy: Policy, *, name: str, now: datetime, progress: Progress | None = None) -> Read:
    """The records of JSON lines, as `parse` gives them; those that have expired are left out and counted."""
    records = parse(content.splitlines(), policy, name=name, now=now, progress=progress)
    live = tuple(record for record in records if not is_expired(record.expires_at, now))
    return Read(records=live, expired=len(records) - len(live), unit="line")


def parse_mem0(
    content: bytes, policy: Policy, *, name: str, now: datetime, tenant: str, progress: Progress | None = None
) -> Read:
    """The memories of a file. tenant: the company; the person is the `user_id` of each, and one without is refused.

    now: the instant of the store, from `Memory.now()`. The event time is when mem0 recorded the memory, which is not
    later than what it is about.
    Raises InvalidInput naming every bad record and why, never its content; NotInPolicy with the lines to add.
    """
    return _parse(content, policy, partial(_mem0, tenant=tenant), name=name, now=now, progress=progress)


def parse_langgraph(
    content: bytes,
    policy: Policy,
    *,
    name: str,
    now: datetime,
    tenant: str,
    namespace: str,
    progress: Progress | None = None,
) -> Read:
    """The items of a file.

    namespace: its labels with a period between them, `{subject}` where the person stands and `*` for a label that may
    be anything, such as `memories.{subject}`; an item of another namespace is refused.
    Raises InvalidInput as `parse_mem0` does.
    """
    labels = namespace.split(".")
    if labels.count(SUBJECT) != 1:
        raise InvalidInput(f"The namespace must have {SUBJECT} once, where the person stands: memories.{SUBJECT}")
    read = partial(_item, tenant=tenant, labels=labels)
    return _parse(content, policy, read, name=name, now=now, progress=progress)


def _parse(
    content: bytes,
    policy: Policy,
    read: Callable[[object, int], FileRecord],
    *,
    name: str,
    now: datetime,
    progress: Progress | None,
) -> Read:
    retention = policy.episode(IMPORTED).retention
    items, unit, beside = _items(content)
    expired = 0
    readers: list[tuple[int, Callable[[], FileRecord]]] = []
    for number, item in items:
        try:
            record = read(item, number)
        except OlvidoError as error:
            readers.append((number, partial(_fail, error)))
            continue
        ends = record.new.expires_at
        if isinstance(ends, datetime) and is_expired(ends, now):
            expired += 1
            continue
        if isinstance(ends, datetime) and ends != ends_at(retention, now, ends):
            # The policy keeps it for a shorter time.
            record = replace(record, new=replace(record.new, expires_at=None))
        readers.append((number, partial(_given, record)))
    place = f"{name}:{{}}" if unit == "line" else f"{name}: record {{}}"
    records = checked(readers, policy, now, place=place, unit=unit, progress=progress)
    return Read(records=records, expired=expired, unit=unit, beside=beside)


def _given(record: FileRecord) -> FileRecord:
    return record


def _fail(error: OlvidoError) -> FileRecord:
    raise error


def _items(content: bytes) -> tuple[list[tuple[int, object]], str, tuple[str, ...]]:
    """The objects of a file with their numbers from 1, what these count, and what else there is.

    Raises InvalidInput for one page of several: the others would be missed without a word.
    """
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        lines = ((number, raw.removeprefix(MARK)) for number, raw in enumerate(content.splitlines(), start=1))
        return [(number, _torn(raw)) for number, raw in lines if raw.strip()], "line", ()
    beside: tuple[str, ...] = ()
    if isinstance(whole, dict):
        if any(whole.get(name) for name in _OTHER_PAGES):
            raise InvalidInput(
                "The file is one page of several, since it names another one. Get all of them, and put their records "
                "into one list."
            )
        found = next((name for name in _LISTS if isinstance(whole.get(name), list)), None)
        if found is None:
            whole = [whole]
        else:
            beside = tuple(sorted(safe_name(name) for name in whole if whole[name] and name not in {found, *_PAGING}))
            whole = whole[found]
    if not isinstance(whole, list):
        raise InvalidInput("The file holds neither a list of records nor one record a line.")
    return list(enumerate(whole, start=1)), "record", beside


def _torn(raw: bytes) -> object:
    """The object of one line, or None, which no record is."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


S = TypeVar("S", bound=_Shape)


def _shaped(shape: type[S], item: object) -> tuple[S, Mapping[str, object]]:
    if not isinstance(item, dict):
        raise InvalidInput("not one whole JSON object. Was the file cut off?")
    try:
        return shape.model_validate_json(json.dumps(item)), item
    except ValidationError as error:
        raise InvalidValue("; ".join(reasons(error, whole="record"))) from None


def _mem0(item: object, number: int, *, tenant: str) -> FileRecord:
    memory, given = _shaped(_Mem0, item)
    if memory.user_id is None:
        raise InvalidInput("has no user_id, so it is of no person. Take it out of the file.")
    return FileRecord(
        line=number,
        scope=Scope(tenant=tenant, subject=memory.user_id),
        new=NewEpisode(
            definition=IMPORTED,
            event_id=f"mem0:{memory.id}",
            occurred_at=memory.created_at,
            fields={**_others(given, _MEM0_READ), "text": memory.memory},
            origin=Origin.inferred("import:mem0", ref=memory.id, at=memory.created_at),
            expires_at=_day(memory.expiration_date),
        ),
    )


def _item(item: object, number: int, *, tenant: str, labels: Sequence[str]) -> FileRecord:
    found, given = _shaped(_Item, item)
    if len(found.namespace) != len(labels) or any(
        wanted not in {ANY, SUBJECT, label} for wanted, label in zip(labels, found.namespace, strict=True)
    ):
        raise InvalidInput(
            f"is of another namespace than {'.'.join(labels)}. Take it out of the file, or import it apart."
        )
    at = labels.index(SUBJECT)
    text, read = _text(found.value)
    # Without the person, whose id stands in the scope only. A list, since a key may hold any separator.
    place = json.dumps([*found.namespace[:at], *found.namespace[at + 1 :], found.key], ensure_ascii=False)
    return FileRecord(
        line=number,
        scope=Scope(tenant=tenant, subject=found.namespace[at]),
        new=NewEpisode(
            definition=IMPORTED,
            event_id=f"langgraph:{place}",
            occurred_at=found.created_at,
            fields={**_others(given, _ITEM_READ), **_others(found.value, read), "text": text},
            origin=Origin.inferred("import:langgraph", ref=found.key, at=found.created_at),
        ),
    )


def _text(value: Mapping[str, object]) -> tuple[str, frozenset[str]]:
    """What an item says, and the names that were read for it.

    That is the text under one of the usual names, or inside it under "content", as LangMem writes a memory without a
    schema. Else the plain values, one a line with their names: those under "content", as LangMem writes one with a
    schema, or those of the item.
    """
    for name in _TEXTS:
        inner = value.get(name)
        if isinstance(inner, dict):
            inner = inner.get("content")
        if isinstance(inner, str):
            return inner, frozenset({name})
    content = value.get("content")
    plain, read = (content, frozenset({"content"})) if isinstance(content, dict) else (value, frozenset(value))
    given = {name: inner for name, inner in plain.items() if inner is not None}
    if given and all(isinstance(inner, str | int | float) for inner in given.values()):
        return "\n".join(f"{name}: {inner}" for name, inner in given.items()), read
    raise InvalidInput(
        f"value has neither text under any of {', '.join(_TEXTS)} nor plain values only. Take it out of the file."
    )


def _others(given: Mapping[str, object], read: Collection[str]) -> dict[str, object]:
    """What is offered to the policy beside the text, so that the report names what was dropped."""
    return {name: value for name, value in given.items() if name not in read and value is not None}


def _day(text: str | None) -> datetime | None:
    """When a memory expires: at the first instant of its day in UTC, which is never too late."""
    if text is None:
        return None
    try:
        return datetime.combine(date.fromisoformat(text[:10]), time(), UTC)
    except ValueError:
        raise InvalidValue("expiration_date: is not a day; write 2026-12-31") from None
