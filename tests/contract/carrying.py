"""Many records at once in the state machine: batches, exports, and exports taken in elsewhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import olvido
from tests.contract.acting import START, Acting
from tests.contract.model_import import Exported, export, take_in
from tests.contract.served import identify
from tests.contract.strategies import HOUR, NOTES, TITLES, expiry
from tests.contract.support import Scope, Stage


class Carrying(Acting):
    """Steps that write or move many records. files: exports by place, each as the model has it and as a file has it."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.files: dict[int, tuple[Exported, str]] = {}

    def record_many(self, *, scope: Scope, reports: Sequence[Mapping[str, Any]]) -> None:
        """Record several episodes and notes at once: all of them or none, an event twice among them as well."""
        new, expected = [], []
        for report in reports:
            definition = "note" if report["note"] else "support-case"
            text = NOTES[report["title"]] if report["note"] else TITLES[report["title"]]
            fields = {"text" if report["note"] else "title": text, **({"transcript": "raw"} if report["drop"] else {})}
            case_id, status = (None, None) if report["note"] else (report["case"], report["status"])
            occurred_at = START - report["ago"] * HOUR
            self.question = text
            new.append(
                olvido.NewEpisode(
                    definition=definition,
                    event_id=report["event"],
                    fields=fields,
                    case_id=case_id,
                    status=status,
                    occurred_at=occurred_at,
                    origin=olvido.Origin(origin_class=olvido.OriginClass(report["origin"]), source="crm"),
                    expires_at=expiry(report["expires"], self.model.now),
                )
            )
            body = {
                "fields": fields,
                "case_id": case_id,
                "status": status,
                "origin": report["origin"],
                "occurred_at": occurred_at,
                "expires_in": report["expires"],
            }
            expected.append(((definition, report["event"]), body))
        done = self.act(
            scope,
            lambda memory: memory.record_episodes(new),
            lambda: self.model.record_many(scope, expected),
        )
        if done is not None:
            written, answers = done
            assert [(each.changed, list(each.dropped)) for each in written] == answers

    def export(self, scope: Scope, place: int) -> None:
        """Write everything that is live of a person to a file; reading changes nothing."""
        done = self.act(scope, lambda memory: memory.export(), lambda: export(self.model, scope))
        if done is None:
            return
        exported, expected = done
        counts = Counter({} if expected is None else expected.counts())
        assert Counter({name: rows for name, rows in exported.counts.items() if rows}) == counts
        if expected is not None and (expected.preferences or expected.episodes):
            text = json.dumps(exported.document)
            records = json.loads(text)["records"]
            for row in records["preferences"]:
                identify(expected.preferences[row["key"]], UUID(row["record_id"]))
            for row in records["episodes"]:
                identify(expected.episodes[row["definition"], row["event_id"]], UUID(row["record_id"]))
            self.files[place] = expected, text

    def take_in(self, *, scope: Scope, place: int, new_consent: bool) -> None:
        """Take an earlier export into a scope: the same one, another person's, another company's."""
        if place not in self.files:
            return
        expected, text = self.files[place]
        done = self.act(
            scope,
            lambda memory: memory.import_export(json.loads(text), new_consent=new_consent),
            lambda: take_in(self.model, expected, scope, new_consent=new_consent),
        )
        if done is None:
            return
        report, taken = done
        left_out = Counter((one.relation, one.name, one.code) for one in report.left_out)
        answered = (Counter(report.written), Counter(report.unchanged), left_out)
        right = (taken.written, taken.unchanged, taken.left_out)
        assert answered == right, f"{answered} instead of {right}"
        assert report.not_imported == {"sessions": len(expected.sessions), "summaries": len(expected.summaries)}
