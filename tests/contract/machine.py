"""The state machine: every step is done to the memory and to the model, and both are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import note
from hypothesis.stateful import initialize, invariant, rule

import olvido
from olvido import Origin, ScopedMemory
from olvido.errors import NotFound, SubjectForgotten, TenantClosed
from tests.contract.acting import START
from tests.contract.carrying import Carrying
from tests.contract.mending import Mending
from tests.contract.model_records import Expiry, Life
from tests.contract.served import check_report, check_served
from tests.contract.strategies import HOUR, LEAVING, NOTES, SCOPES, TITLES, expiry, steps
from tests.contract.support import Scope, Stored
from tests.contract.talking import Talking


class Contract(Talking, Carrying, Mending):
    """Every kind of step, and what has to hold after each."""

    @initialize()
    def begin(self) -> None:
        """One person is known already, by the same name at each company.

        At the first with a case of three reports, a conversation, and an export of all but the conversation.
        """
        for scope in (SCOPES[0], SCOPES[2], SCOPES[4]):
            self._say(scope, "pt", "set")
            self.remember(scope, 0, "n1", "keep")
        self._say(SCOPES[0], "en", "corrected")
        reports: list[tuple[str, str, Expiry]] = [
            ("e1", "declared", "keep"),
            ("e2", "observed", 12 * HOUR),
            ("e3", "declared", 24 * HOUR),
        ]
        for event, origin, expires in reports:
            self.record(
                scope=SCOPES[0],
                event=event,
                title=0,
                case="at1",
                status="open",
                origin=origin,
                ago=1,
                expires=expires,
                drop=False,
            )
        self.consolidate(SCOPES[0])
        for group in ("g1", None):
            self.say(SCOPES[0], group)
        self.export(SCOPES[0], 0)

    def _say(self, scope: Scope, value: str, change: str) -> None:
        language = ("language", value)
        self.state(scope=scope, value=language, change=change, origin="declared", expires="keep", ago=0, seen=None)

    @rule(step=steps)
    def step(self, step: tuple[str, dict[str, Any]]) -> None:
        """Whatever happens next."""
        name, arguments = step
        getattr(self, name)(**arguments)

    def state(
        self,
        *,
        scope: Scope,
        value: tuple[str, str],
        change: str,
        origin: str,
        expires: Expiry,
        ago: int,
        seen: int | None,
    ) -> None:
        """Set or correct a preference. seen: by how much the expected version is off; None expects nothing."""
        now, key = self.model.now, value[0]
        chain = self.model.lives.get(scope, Life()).preferences.get(key)
        if change == "corrected" and chain is not None and chain.head.value == value[1]:
            ago = 0  # repeating a value as a correction of the past says nothing about what it stands against
        said_at = now - ago * HOUR
        current = 0 if chain is None or chain.expires_at <= now else chain.head.number
        expected = None if seen is None else current + seen
        source = Origin(origin_class=olvido.OriginClass(origin), source="form", at=said_at if ago else None)
        given = expiry(expires, now)

        def stating(memory: ScopedMemory) -> Coroutine[Any, Any, olvido.Written[olvido.Preference]]:
            call = memory.set_preference if change == "set" else memory.correct_preference
            return call(key, value[1], origin=source, expires_at=given, expected_version=expected)

        done = self.act(
            scope,
            stating,
            lambda: self.model.state(
                scope,
                key,
                value[1],
                change=change,
                origin=origin,
                said_at=said_at,
                expires_in=expires,
                expected=expected,
            ),
        )
        if done is not None:
            written, (changed, version) = done
            assert (written.changed, written.record.version, written.record.value) == (changed, version, value[1])

    def record(
        self,
        *,
        scope: Scope,
        event: str,
        title: int,
        case: str | None,
        status: str | None,
        origin: str,
        ago: int,
        expires: Expiry,
        drop: bool,
    ) -> None:
        """Record a support case: a new one, the same again, the same id with another body, with a field too many."""
        occurred_at = START - ago * HOUR
        self.question = TITLES[title]
        fields = {"title": self.question, **({"transcript": "the raw words"} if drop else {})}
        given = expiry(expires, self.model.now)
        done = self.act(
            scope,
            lambda memory: memory.record_episode(
                "support-case",
                event_id=event,
                occurred_at=occurred_at,
                fields=fields,
                case_id=case,
                status=status,
                origin=Origin(origin_class=olvido.OriginClass(origin), source="crm"),
                expires_at=given,
            ),
            lambda: self.model.record(
                scope,
                ("support-case", event),
                fields,
                case_id=case,
                status=status,
                origin=origin,
                occurred_at=occurred_at,
                expires_in=expires,
            ),
        )
        if done is not None:
            written, (changed, dropped) = done
            assert (written.changed, list(written.dropped)) == (changed, dropped)

    def remember(self, scope: Scope, number: int, event: str, expires: Expiry) -> None:
        """Remember a sentence."""
        self.question = NOTES[number]
        given = expiry(expires, self.model.now)
        done = self.act(
            scope,
            lambda memory: memory.remember(self.question, event_id=event, expires_at=given),
            lambda: self.model.record(
                scope,
                ("note", event),
                {"text": self.question},
                case_id=None,
                status=None,
                origin="declared",
                occurred_at=None,
                expires_in=expires,
            ),
        )
        assert done is None or (done[0].changed, done[0].record.untrusted) == (done[1][0], True)

    def consolidate(self, scope: Scope) -> None:
        """Bring summaries up to date."""
        self.act(scope, lambda memory: memory.consolidate(), lambda: self.model.life(scope).summarise(self.model.now))

    def pass_time(self, hours: int) -> None:
        """Time alone changes what is served, never what is stored."""
        self.later.update((SCOPES[0], SCOPES[2]))
        self.model.now += hours * HOUR
        self.stage.clock.set(self.model.now)
        note(f"now {self.model.now}")

    def purge(self, batch: int, hours: int) -> None:
        """A purge, perhaps a while later, removes exactly what has expired, everywhere, and says so."""
        self.pass_time(hours=hours)
        report = self.stage.run(self.stage.memory.purge_expired(batch_size=batch))
        removed, lives = self.model.purge()
        self.touched.update(SCOPES)
        assert (Counter(report.removed), report.lives, report.left_locked) == (removed, lives, False)

    def forget(self, scope: Scope, pick: int, whose: int, *, dry_run: bool) -> None:
        """Forget one record, perhaps expired by now; an id of somebody else, or one that is gone, is not found."""
        own = list(self.model.lives.get(scope, Life()).records())
        known = own if whose and own else [*self.seen, uuid4()]
        wanted = known[pick % len(known)]
        done = self.act(
            scope,
            lambda memory: memory.forget(wanted, dry_run=dry_run),
            lambda: self.model.forget(scope, wanted, dry_run=dry_run),
        )
        if done is not None:
            check_report(*done, dry_run=dry_run)

    def reopen(self, scope: Scope, pick: int) -> None:
        """Forget only the current version of a preference; the value before it is current again."""
        chains = self.model.lives.get(scope, Life()).preferences
        known = sorted(key for key, chain in chains.items() if chain.record_id is not None)
        if not known:
            return
        key = known[pick % len(known)]
        wanted = chains[key].record_id or uuid4()
        done = self.act(
            scope,
            lambda memory: memory.forget(wanted, reopen_previous=True),
            lambda: self.model.reopen(scope, key),
        )
        if done is not None:
            assert done[0].removed == {"preference_versions": 1}
            assert done[0].chain == "reopened"

    def forget_all(self, scope: Scope, whose: str) -> None:
        """Forget a person, now and then; handles from before are over."""
        if scope[0] in self.model.closed:
            return
        used = self.handle(scope)
        memory = used if whose == "in use" else self.stage.memory.scope(tenant=scope[0], subject=scope[1])
        before = self.stage.run(memory.forget_all(dry_run=True))
        check_report(before, self.model.rows(scope), dry_run=True)
        report = self.stage.run(memory.forget_all())
        assert before.plan_hash == report.plan_hash
        known = scope in self.model.lives
        check_report(report, self.model.forget_all(scope))
        self.touched.add(scope)
        if known:
            self.over.append(self.handles.pop(scope))

    def use_old_handle(self, pick: int, write: int) -> None:
        """A handle from before a forget reads nothing and writes nothing, whatever was begun since then."""
        if not self.over:
            return
        memory = self.over[pick % len(self.over)]
        if memory.scope.tenant in self.model.closed:
            return
        session = memory.session("s1")
        writes: list[Callable[[], Coroutine[Any, Any, object]]] = [
            lambda: memory.remember("late"),
            lambda: memory.set_preference("language", "en", origin=Origin.declared("late")),
            lambda: memory.correct_preference("language", "en", origin=Origin.declared("late")),
            lambda: memory.record_episodes([olvido.NewEpisode(definition="note", fields={"text": "late"})]),
            lambda: session.append("user", "late"),
            lambda: session.add_fact("late", origin=Origin.declared("late")),
            lambda: session.open(goal="late"),
            session.close,
            memory.consolidate,
        ]
        with pytest.raises(SubjectForgotten):
            self.stage.run(writes[write]())
        assert self.stage.run(memory.preferences()) == ()
        assert self.stage.run(memory.recall(NOTES[0])).items == ()
        assert not any(self.stage.run(memory.stored_rows()).values())
        with pytest.raises(NotFound):
            self.stage.run(session.read())
        if (memory.scope.tenant, memory.scope.subject) in self.model.lives:
            # The person came back: to say that all is forgotten would be wrong, and to forget it was not asked for.
            with pytest.raises(SubjectForgotten):
                self.stage.run(memory.forget_all())
        else:
            assert not self.stage.run(memory.forget_all()).found

    def forget_tenant(self) -> None:
        """A company leaves, and stays closed."""
        if LEAVING in self.model.closed:
            return
        report = self.stage.run(self.stage.memory.forget_tenant(LEAVING))
        removed, lives = self.model.forget_tenant(LEAVING)
        check_report(report, removed)
        assert report.lives == lives
        self.touched.update(scope for scope in SCOPES if scope[0] == LEAVING)

    @invariant()
    def everybody_else_is_unchanged(self) -> None:
        """What is stored is the model's, row by row, and only the scopes of the last rule may have changed."""
        census = self.stage.outside.census()
        for scope in SCOPES:
            stored = census.pop(scope, Stored(rows=Counter(), checksums={}))
            counted = Counter({name: rows for name, rows in stored.rows.items() if name not in {"due", "lives"}})
            assert counted == self.model.rows(scope), f"stored rows of {scope}"
            assert scope in self.touched or stored == self.stored.get(scope, stored), f"{scope} was not touched"
            self.stored[scope] = stored
        assert census == {}
        assert self.stage.outside.problems() == {}

    @invariant()
    def reads_are_the_models(self) -> None:
        """Whoever was touched is served what is live, and nothing else."""
        for scope in self.touched | self.later:
            if scope[0] in self.model.closed:
                with pytest.raises(TenantClosed):
                    self.stage.run(self.handle(scope).recall(self.question))
                continue
            life = self.model.life(scope)
            note(f"checking {scope} at {self.model.now}")
            gaps = 0 if self.mended else self.stage.outside.without_vector(self.model.now).get(scope, 0)
            self.stage.run(check_served(self.handle(scope), life, self.model.now, self.question, gaps))
            for record_id in life.records():
                self.model.forgotten[scope[0]].hold(life.key, record_id, self.model.now)
            self.seen.update(life.records())
        self.touched.clear()
        self.later.clear()
