"""Copies in a policy file: how each is erased, with nothing secret in the file."""

from __future__ import annotations

import pytest

from olvido.domain.policy_explained import explain
from olvido.domain.policy_file import default_policy_text, load_policy, policy_problems, policy_schema

DEFAULT = default_policy_text()
COPIES = DEFAULT.index("\ncopies:\n") + 1
REST = DEFAULT.index("\n\n#", COPIES)


def with_copies(*lines: str) -> str:
    """The default policy with one copy of these lines."""
    return f"{DEFAULT[:COPIES]}copies:\n  - name: crm\n    holder: sales\n    " + "\n    ".join(lines) + DEFAULT[REST:]


@pytest.mark.parametrize(
    "connector, known_as, said",
    [
        ("{type: registered, name: hubspot}", "hubspot", "connector hubspot"),
        ("{type: valkey, url_env: CRM_URL}", "crm.valkey", "cache at CRM_URL"),
        ("{type: http, url_env: CRM_URL, key_env: CRM_KEY}", "crm.http", "key in CRM_KEY"),
        ('{type: directory, path_env: EXPORTS, template: "{tenant}/{subject}"}', "crm.directory", "files {tenant}/"),
    ],
)
def test_a_copy_names_its_connector(connector: str, known_as: str, said: str) -> None:
    """One that host code registers, or one of ours with its settings; each is explained in a sentence."""
    policy = load_policy(with_copies("kind: service", "retention: unlimited", f"connector: {connector}"), "p.yaml")
    assert [copy.connected for copy in policy.copies] == [known_as]
    assert said in explain(policy).copies[0].forgotten


@pytest.mark.parametrize(
    "lines, said",
    [
        (["kind: service", "retention: unlimited"], "within 30 days"),
        (["kind: manual", "retention: unlimited", "deadline: 7d"], "within 7 days"),
        (["kind: log", "retention: 9d"], "nobody looks afterwards"),
        (["kind: backup", "retention: 9d"], "nobody looks afterwards"),
    ],
)
def test_a_copy_without_one_says_who_acts(lines: list[str], said: str) -> None:
    """Its holder, within a time, or nobody because it goes by itself."""
    assert said in explain(load_policy(with_copies(*lines), "p.yaml")).copies[0].forgotten


@pytest.mark.parametrize(
    "lines, path, message",
    [
        (["kind: service", "connector: hubspot"], "connector", "a mapping"),
        (["kind: service", "connector: {type: ftp}"], "connector", "one of: registered, valkey, http, directory"),
        (["kind: service", "connector: {name: hubspot}"], "connector", "one of: registered, valkey, http, directory"),
        (["kind: service", "connector: {type: registered}"], "connector", "`name` is missing"),
        (["kind: cache", "connector: {type: valkey, url: x}"], "connector.url", "did you mean `url_env`"),
        (
            ["kind: cache", "connector: {type: valkey, url_env: CRM, key_env: K}"],
            "connector.key_env",
            "did you mean `url_env`",
        ),
        (["kind: cache", 'connector: {type: valkey, url_env: "valkey://x"}'], "connector.url_env", "never stands in a"),
        (["kind: service", "connector: {type: http, url_env: CRM_URL}"], "connector", "`key_env` is missing"),
        (
            ["kind: service", 'connector: {type: directory, path_env: P, template: "{subject}"}'],
            "connector.template",
            "it needs {tenant}",
        ),
        (["kind: backup", "connector: {type: registered, name: x}"], "connector", "goes with its retention"),
        (["kind: service", "connector: {type: registered, name: x}", "deadline: 3d"], "deadline", "leave it or"),
        (["kind: manual"], "", "needs a `deadline`"),
        (["kind: log", "deadline: 10d"], "deadline", "at most that"),
        (["kind: log", "deadline: soon"], "deadline", "a number and a unit"),
        (["kind: log", "dead_line: 1d"], "dead_line", "did you mean `deadline`"),
    ],
)
def test_what_cannot_be_is_refused_at_its_line(lines: list[str], path: str, message: str) -> None:
    """Unknown keys, secrets in the file, and contradictions, each with what to mend."""
    (problem,) = policy_problems(with_copies("retention: 9d", *lines))
    assert problem.path == f"copies.0.{path}".rstrip(".")
    assert message in problem.message


def test_the_schema_knows_the_connectors() -> None:
    """So that an editor completes them."""
    schema = policy_schema()
    assert {"RegisteredConnector", "ValkeyConnector", "HttpConnector", "DirectoryConnector"} <= set(schema["$defs"])
    assert {"connector", "deadline"} <= set(schema["$defs"]["OutsideCopy"]["properties"])
