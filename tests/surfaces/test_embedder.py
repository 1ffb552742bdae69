"""The command line with an embedder behind an endpoint, named by the environment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.adapters.endpoint import DIMENSIONS, Endpoint, Reply
from tests.surfaces.conftest import SCOPE, Run

TEXT = "prefers aisle seats"


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """A server that the environment names."""
    server = Endpoint()
    monkeypatch.setenv("OLVIDO_EMBEDDER_URL", server.url)
    monkeypatch.setenv("OLVIDO_EMBEDDER_MODEL", "m")
    monkeypatch.setenv("OLVIDO_EMBEDDER_DIMENSIONS", str(DIMENSIONS))
    monkeypatch.setenv("OLVIDO_EMBEDDER_API_KEY", "k-3")
    yield server
    server.close()


def test_the_endpoint_of_the_environment_is_used(cli: Run, endpoint: Endpoint) -> None:
    """A note is embedded there, with the key; doctor names the embedder and finds the vector to be of it."""
    written = cli("remember", *SCOPE, TEXT, "--json")
    assert (written.code, written.document["index_state"]) == (0, "indexed")
    assert endpoint.texts() == [[TEXT]]
    assert endpoint.requests[0].headers["Authorization"] == "Bearer k-3"
    looked = cli("doctor", "--tenant", SCOPE[1], "--json").document
    assert (looked["embedder"], looked["survey"]["embedders"], looked["findings"]) == ("m/8", {"m/8": 1}, [])
    assert "Embedder: m/8." in cli("doctor").out


def test_doctor_says_what_is_wrong_with_it(cli: Run, endpoint: Endpoint) -> None:
    """An embedder that gives no vector is a warning with what to do, and the contract still holds."""
    endpoint.script.append(Reply(status=401, body=b""))
    looked = cli("doctor", "--json")
    assert looked.code == 0
    (finding,) = looked.document["findings"]
    assert (finding["code"], finding["severity"]) == ("embedder_unusable", "warning")
    assert finding["problem"].startswith("The embedder answered with HTTP status 401.")
    assert "OLVIDO_EMBEDDER_API_KEY" in finding["remedy"]


def test_settings_that_do_not_go_together_end_the_command(
    cli: Run, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the variable to set, and nothing is sent."""
    monkeypatch.delenv("OLVIDO_EMBEDDER_DIMENSIONS")
    for command in (["remember", *SCOPE, TEXT], ["doctor"]):
        refused = cli(*command)
        assert refused.code == 2
        assert "OLVIDO_EMBEDDER_DIMENSIONS" in refused.err
    assert endpoint.requests == []
