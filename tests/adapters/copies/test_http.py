"""The connector for services behind HTTP, against a real server: signed, asked again under one id, and looked at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import UUID

import pytest

from olvido.connectors import CopyProblem, CopyUnavailable, HttpCopy, signature
from olvido.errors import InvalidInput
from tests.adapters.copies.service import CLOCK, KEY, Service
from tests.adapters.copies.support import REQUEST, target

RECORD = UUID("019f0000-0000-7000-8000-0000000000aa")


@pytest.fixture
def service() -> Iterator[Service]:
    """A service that holds three things of Ana, and one of her namesake at another company."""
    serving = Service()
    serving.held = {("acme", "ana"): 3, ("globex", "ana"): 1}
    yield serving
    serving.close()


@pytest.fixture
def copy(service: Service) -> HttpCopy:
    """Its connector."""
    return HttpCopy(service.url, key=KEY, timeout=5.0, now=lambda: CLOCK)


async def test_it_finds_erases_and_looks_again(service: Service, copy: HttpCopy) -> None:
    """One person at one company, and nobody else."""
    assert await copy.find(target()) == 3
    await copy.erase(target())
    assert await copy.verify(target()) == 0
    assert service.held == {("globex", "ana"): 1}


async def test_what_is_accepted_for_later_is_not_known_until_it_is_done(service: Service, copy: HttpCopy) -> None:
    """202 is no erasure: the state is asked for, and what it holds is counted anew at the end."""
    service.later = True
    await copy.erase(target())
    assert [await copy.verify(target()) for _ in range(2)] == [None, None]
    service.work()
    assert await copy.verify(target()) == 0


async def test_a_success_with_no_effect_is_found_out(service: Service, copy: HttpCopy) -> None:
    """It says 200 and `done`, and still holds everything."""
    service.lies = True
    await copy.erase(target())
    assert await copy.verify(target()) == 3


async def test_an_erasure_that_failed_is_counted_anew(service: Service, copy: HttpCopy) -> None:
    """The service says itself that it did not work: what it still holds is what it is asked to erase again."""
    service.lies = True
    await copy.erase(target())
    service.erasures[str(REQUEST)] = "failed"
    assert await copy.verify(target()) == 3
    service.lies = False
    await copy.erase(target())
    assert await copy.verify(target()) == 0


async def test_a_request_is_signed_and_names_nobody_in_its_address(service: Service, copy: HttpCopy) -> None:
    """Method, path, time and body are under the signature; ids of persons are in the body only."""
    await copy.erase(target(record_ids=(RECORD,)))
    ((method, path, headers, body),) = service.requests
    assert (method, path) == ("POST", "/privacy/erase")
    assert headers["Olvido-Signature"] == signature(KEY, method, path, str(CLOCK), body)
    assert headers["Idempotency-Key"] == str(REQUEST)
    assert json.loads(body) == {
        "erasure_id": str(REQUEST),
        "tenant": "acme",
        "subject": "ana",
        "record_ids": [str(RECORD)],
        "before": "2026-01-01T12:00:00+00:00",
    }
    assert not any(word in f"{path}{headers}" for word in ("acme", "ana", KEY))


@pytest.mark.parametrize(
    "path, sent",
    [("/é", "/%C3%A9"), ("/a/../b/.", "/b"), ("/a%2fb", "/a%2fb"), ("/a|b", "/a|b"), ("/..", "")],
)
async def test_what_is_signed_is_the_path_that_is_sent(service: Service, path: str, sent: str) -> None:
    """A client writes letters beyond ASCII and dots of a URL in its own way, and the service sees that."""
    copy = HttpCopy(service.url.removesuffix("/privacy") + path, key=KEY, now=lambda: CLOCK)
    with pytest.raises(CopyUnavailable):
        await copy.find(target())
    ((method, seen, headers, body),) = service.requests
    assert seen == f"{sent}/find"
    assert headers["Olvido-Signature"] == signature(KEY, method, seen, str(CLOCK), body)


@pytest.mark.parametrize("change", ["method", "path", "timestamp", "body", "key"])
def test_a_signature_is_of_all_that_is_sent(change: str) -> None:
    """Whatever is changed on the way, the signature is another one."""
    sent = {"key": KEY, "method": "POST", "path": "/erase", "timestamp": "1", "body": b"{}"}
    changed = {**sent, change: b"[]" if change == "body" else f"{sent[change]!s}1"}
    assert signature(**sent) != signature(**changed)  # type: ignore[arg-type]


def test_the_signature_is_the_one_of_the_documentation() -> None:
    """Computed once by hand with another tool, so that a service in any language can compare its own."""
    assert signature("0123456789abcdef", "POST", "/privacy/find", "1800000000", b'{"tenant":"acme"}') == (
        "v1=a9a418057f2109fd4e14ac24e6e3de37c368af221901081db6b3d194035fbf59"
    )


async def test_a_key_that_the_service_does_not_know_is_told_as_that(service: Service) -> None:
    """And so is a clock that is wrong: the service refuses timestamps of another time."""
    for stranger in (
        HttpCopy(service.url, key=KEY + "!", now=lambda: CLOCK),
        HttpCopy(service.url, key=KEY, now=lambda: CLOCK - 3_600),
    ):
        with pytest.raises(CopyUnavailable) as refused:
            await stranger.find(target())
        assert refused.value.problem is CopyProblem.UNAUTHORIZED


@pytest.mark.parametrize(
    "status, problem",
    [
        (302, CopyProblem.REFUSED),
        (400, CopyProblem.REFUSED),
        (403, CopyProblem.UNAUTHORIZED),
        (429, CopyProblem.BUSY),
        (500, CopyProblem.FAILED),
        (503, CopyProblem.BUSY),
    ],
)
async def test_a_refusal_is_told_by_its_status(
    service: Service, copy: HttpCopy, status: int, problem: CopyProblem
) -> None:
    """Also a redirection, which is not followed; what the service says is not repeated."""
    service.status = status
    for ask in (copy.find, copy.erase, copy.verify):
        with pytest.raises(CopyUnavailable) as refused:
            await ask(target())
        assert refused.value.problem is problem
        assert "ana" not in str(refused.value)
    assert len(service.requests) == 3


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"ok",
        b"{}",
        b'{"count": -1}',
        b'{"count": "0"}',
        b'{"count": true}',
        b'{"count": 0.0}',
        b'{"count": null}',
        b"[0]",
        b" " * 70_000,
    ],
)
async def test_an_answer_that_is_no_count_counts_nothing(service: Service, copy: HttpCopy, answer: bytes) -> None:
    """Zero has to be said as a number; whatever else comes is no look."""
    service.answer = answer
    with pytest.raises(CopyUnavailable) as refused:
        await copy.find(target())
    assert refused.value.problem is CopyProblem.NOT_UNDERSTOOD


async def test_a_service_that_hangs_or_is_gone(service: Service) -> None:
    """It is given up in time, and told apart from one that is not there."""
    service.hangs = True
    with pytest.raises(CopyUnavailable) as hung:
        await HttpCopy(service.url, key=KEY, timeout=0.1).find(target())
    service.close()
    with pytest.raises(CopyUnavailable) as gone:
        await HttpCopy(service.url, key=KEY).find(target())
    assert (hung.value.problem, gone.value.problem) == (CopyProblem.TIMED_OUT, CopyProblem.UNREACHABLE)


@pytest.mark.parametrize(
    "url",
    [
        "http://other.example/x",
        "http://10.0.0.1/x",
        "ftp://other.example",
        "https://user:pw@other.example",
        "https://other.example?a=b",
        "https://other.example#a",
        "https://",
        "other.example",
        "https://other.example:port",
        "https://other.example/a b",
        "https://\u2603.other.example",
    ],
)
def test_an_address_that_would_betray_is_refused_without_repeating_it(url: str) -> None:
    """Ids of persons travel encrypted, except on this machine; secrets do not stand in addresses."""
    with pytest.raises(InvalidInput) as refused:
        HttpCopy(url, key=KEY)
    assert "other" not in str(refused.value)
    assert "pw" not in str(refused.value)


@pytest.mark.parametrize("url", ["http://localhost:8080", "http://127.0.0.1", "http://[::1]:80/x", "https://a.example"])
def test_this_machine_may_do_without_encryption(url: str) -> None:
    """For a sidecar, and for tests; the key is in no repr."""
    assert KEY not in repr(HttpCopy(url, key=KEY))


@pytest.mark.parametrize("key", ["short", "short\udcff" * 16, b"short" * 16, None])
def test_a_key_that_cannot_be_used_is_refused(key: str) -> None:
    """Sixteen bytes of text at least, so that it cannot be guessed; the error does not repeat it."""
    with pytest.raises(InvalidInput) as refused:
        HttpCopy("https://crm.example", key=key)
    assert "short" not in str(refused.value)
    assert refused.value.__context__ is None
