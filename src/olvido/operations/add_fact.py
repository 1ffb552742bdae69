"""Store what is known in a session, with its origin and the messages it rests on (rules 4 and 11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from olvido.domain.compaction import references
from olvido.domain.identifiers import required_identifier
from olvido.domain.origin import Origin
from olvido.domain.records import Fact
from olvido.errors import InvalidValue
from olvido.operations.admission import masked_text, refuse_credentials_in
from olvido.operations.environment import Caller, Environment
from olvido.operations.session_state import lock
from olvido.storage import rows
from olvido.storage.database import Transaction
from olvido.storage.queries import statements
from olvido.storage.record_ids import new_record_id

_SQL = statements("sessions")


async def add_fact(
    environment: Environment,
    caller: Caller,
    session_id: str,
    text: str,
    *,
    origin: Origin | None = None,
    messages: Sequence[int] = (),
) -> Fact:
    """Add one fact to an open session; credentials in it are masked. Forget it by its record_id.

    text: 1 to `limits.session_item_length` characters. messages: sequence numbers of messages that are there, at most
    1,000. A session has at most `limits.session_facts` facts.
    Raises NotFound, SessionClosed, InvalidValue, InvalidInput, OriginNotGranted, SecretRefused, SubjectForgotten,
    TenantClosed.
    """
    required_identifier(session_id, "session_id")
    limits = environment.policy.limits
    content = masked_text(text, "fact", limits.session_item_length)
    source = caller.origin(origin)
    refuse_credentials_in(source)
    async with environment.database.write(caller.life) as transaction:
        session = await lock(transaction, session_id)
        refers = references(messages, first=0, until=session["message_count"])
        await require_room(transaction, session_id, 1, limits.session_facts)
        fact = await put_fact(transaction, session_id, content, refers, source)
        await transaction.audit("recorded", "fact", policy_version=environment.policy.version, record_id=fact.record_id)
        return fact


async def require_room(transaction: Transaction, session_id: str, added: int, most: int) -> None:
    """Raise InvalidValue if `added` more facts would make more than `most` in this session, which is locked."""
    row = await transaction.one(_SQL["count_facts"], session_id=session_id)
    if row is not None and row["facts"] + added > most:
        raise InvalidValue(
            f"This session has {row['facts']} facts, and the policy allows {most}. Forget some by their record_id, or "
            "raise limits.session_facts in the policy."
        )


async def put_fact(
    transaction: Transaction, session_id: str, content: str, messages: Iterable[int], origin: Origin
) -> Fact:
    """Store one fact of a session that is locked; everything about it is checked already."""
    stored = await transaction.all(
        _SQL["put_fact"],
        session_id=session_id,
        record_id=new_record_id(),
        content=content,
        messages=list(messages),
        **rows.origin_columns(origin),
    )
    return rows.fact(stored[0])
