"""What happens next in a random history: a verb of `Contract` with its arguments, most of them about one person."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

import olvido
from olvido.domain.instants import KeepType
from tests.contract.model_records import Expiry
from tests.contract.support import Scope

HOUR = timedelta(hours=1)
TENANTS = ("norte", "sul")
LEAVING = "oeste"
SCOPES: tuple[Scope, ...] = tuple((tenant, subject) for tenant in (*TENANTS, LEAVING) for subject in ("ana", "rui"))
NOTES = ("prefers aisle seats", "gosta de ligar à tarde", "no quiere correos los lunes")
TITLES = ("cannot reach the course", "a senha expirou de novo")

# Most steps are about one person, so that their histories get long; the others take part now and then.
scopes = st.sampled_from([SCOPES[0]] * 7 + [SCOPES[1], SCOPES[2], SCOPES[4]])
picks = st.integers(0, 40)
# Few distinct spans, so that what expires together and at the very instant of a step is common.
expiries: st.SearchStrategy[Expiry] = st.sampled_from(
    ["keep", "keep", None, HOUR, 12 * HOUR, 12 * HOUR, 24 * HOUR] * 3 + [-HOUR, 24 * HOUR * 900]
)
session_expiries: st.SearchStrategy[Expiry] = st.sampled_from(["keep", HOUR, 12 * HOUR])
values = st.sampled_from(
    [("language", each) for each in ("pt", "en", "es")]
    + [("display_name", each) for each in ("Ana", "Dona Ana")] * 2
    + [("contact_channel", "email")]
)
texts = st.sampled_from(["consultar acesso", "send the certificate", "no llamar"])
items = st.dictionaries(
    st.sampled_from(["decisions", "constraints", "pending"]), st.lists(texts, max_size=2), max_size=2
)

reports = st.fixed_dictionaries(
    {
        "note": st.sampled_from([False, False, True]),
        "event": st.sampled_from(["e1", "e2", "e3", "e4"]),
        "title": st.sampled_from([0, 0, 0, 0, 1]),
        "case": st.sampled_from(["at1", "at1", "at1", "at1", "at2"]),
        "status": st.sampled_from(["lookup-failed", "lookup-failed", "lookup-failed", "open"]),
        "origin": st.sampled_from(["observed"] * 12 + ["declared"] * 12 + ["inferred"]),
        "ago": st.sampled_from([1, 1, 1, 1, 50]),
        "expires": st.sampled_from(["keep", "keep", None, 12 * HOUR, 24 * HOUR]),
        "drop": st.booleans(),
    }
)

_ARGUMENTS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "state": {
        "scope": scopes,
        "value": values,
        "change": st.sampled_from(["set", "corrected"]),
        "origin": st.sampled_from(["declared"] * 5 + ["observed", "inferred"]),
        "expires": expiries,
        "ago": st.sampled_from([0, 0, 0, 1, 30, 24 * 400]),
        "seen": st.sampled_from([None, None, None, 0, 0, 1]),
    },
    "record": {
        "scope": scopes,
        "event": st.sampled_from(["e1", "e2", "e3", "e4", "e5", "e6"]),
        "title": st.sampled_from([0, 0, 0, 1]),
        "case": st.sampled_from(["at1", "at1", "at1", "at2", None]),
        "status": st.sampled_from(["lookup-failed", "lookup-failed", "open", None]),
        "origin": st.sampled_from(["observed"] * 4 + ["declared"] * 3 + ["inferred"]),
        "ago": st.sampled_from([1, 1, 1, 50]),
        "expires": expiries,
        "drop": st.booleans(),
    },
    "remember": {
        "scope": scopes,
        "number": st.integers(0, 2),
        "event": st.sampled_from(["n1", "n2", "n3"]),
        "expires": expiries,
    },
    "converse": {
        "scope": scopes,
        "session_id": st.sampled_from(["s1", "s1", "s1", "s2"]),
        "verb": st.sampled_from(["open", "set", "append", "append", "append", "append", "append", "close"]),
        "goal": st.none() | texts,
        "given": items,
        "group": st.sampled_from([None, None, "g1", "g2"]),
        "expires": session_expiries,
    },
    "add_fact": {
        "scope": scopes,
        "session_id": st.sampled_from(["s1", "s1", "s1", "s2"]),
        "content": texts,
        "origin": st.sampled_from(["declared", "inferred"]),
        "messages": st.lists(st.integers(0, 3), max_size=2),
    },
    "compact": {
        "scope": scopes,
        "session_id": st.sampled_from(["s1", "s1", "s1", "s2"]),
        "keep": st.sampled_from([0, 1, 1, 2, 3]),
        "says": st.sampled_from(["facts"] * 6 + ["nothing", "raises"]),
    },
    "record_many": {"scope": scopes, "reports": st.lists(reports, min_size=1, max_size=4)},
    "export": {"scope": scopes, "place": st.integers(0, 1)},
    "take_in": {"scope": scopes, "place": st.integers(0, 1), "new_consent": st.sampled_from([False, False, True])},
    "consolidate": {"scope": scopes},
    "pass_time": {"hours": st.sampled_from([1, 1, 11, 12, 12, 24, 24 * 366])},
    "purge": {"batch": st.sampled_from([1, 1000]), "hours": st.sampled_from([0, 1, 12, 24, 24 * 366])},
    "forget": {
        "scope": scopes,
        "pick": picks,
        "whose": st.integers(0, 4),
        "dry_run": st.sampled_from([False, False, False, True]),
    },
    "reopen": {"scope": scopes, "pick": picks},
    "forget_all": {"scope": scopes, "whose": st.sampled_from(["in use", "new"])},
    "use_old_handle": {"pick": picks, "write": st.integers(0, 8)},
    "forget_tenant": {},
    "lose_embedder": {"fails": st.sampled_from([True, True, False])},
    "repair": {"out": st.sampled_from([False, False, False, True]), "batch": st.sampled_from([1, 2, 64])},
}
_WEIGHTS = {
    "state": 9,
    "record": 9,
    "remember": 3,
    "converse": 8,
    "add_fact": 2,
    "compact": 5,
    "record_many": 3,
    "export": 2,
    "take_in": 6,
    "consolidate": 4,
    "pass_time": 3,
    "purge": 2,
    "forget": 4,
    "reopen": 3,
    "forget_all": 1,
    "use_old_handle": 2,
    "forget_tenant": 1,
    "lose_embedder": 3,
    "repair": 3,
}

# Weighted here and not as rules of their own: the state machine would leave half of its rules out of each history, and
# what matters comes of many of them together.
steps = st.sampled_from([name for name, weight in _WEIGHTS.items() for _ in range(weight)]).flatmap(
    lambda name: st.tuples(st.just(name), st.fixed_dictionaries(_ARGUMENTS[name]))
)


def expiry(expires: Expiry, now: datetime) -> datetime | KeepType | None:
    """As a caller would pass it."""
    if expires == "keep":
        return olvido.KEEP
    return None if expires is None else now + expires
