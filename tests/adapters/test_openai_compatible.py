"""The embedder behind an OpenAI endpoint: what it sends, what it takes, and how long it tries."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from olvido.adapters.openai_compatible import FIRST_WAIT, LONGEST_WAIT, REST_SECONDS
from olvido.embedders import OpenAICompatible
from olvido.errors import EmbedderProblem, EmbedderUnavailable
from tests.adapters.conftest import Make, Waits
from tests.adapters.endpoint import DIMENSIONS, Endpoint, Reply, answer_of, direction_of, rows_of

NAN, INFINITE = float("nan"), float("inf")


async def problem_of(embedder: OpenAICompatible, text: str = "hello") -> EmbedderProblem:
    """What goes wrong when `text` is to be embedded; long before the default times are over."""
    with pytest.raises(EmbedderUnavailable) as refused:
        async with asyncio.timeout(10):
            await embedder.embed_passages([text])
    return refused.value.problem


async def test_what_is_sent(endpoint: Endpoint, make: Make) -> None:
    """One POST to /embeddings with model, texts and encoding; the key as a bearer; prefixes before the texts."""
    embedder = make(api_key="k-1", query_prefix="query: ", passage_prefix="passage: ", passage_input_type="document")
    await embedder.embed_passages(["olá", "half \ud83d pair\x00", ""])
    await embedder.embed_query("olá?")
    passages, query = endpoint.requests
    assert passages.path == query.path == "/v1/embeddings"
    assert passages.headers["Authorization"] == "Bearer k-1"
    assert passages.body == {
        "model": "m",
        "encoding_format": "float",
        "input": ["passage: olá", "passage: half ? pair ", "passage:  "],
        "input_type": "document",
    }
    assert query.body == {"model": "m", "encoding_format": "float", "input": ["query: olá?"]}


async def test_what_is_sent_only_if_asked(endpoint: Endpoint, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The length of vectors goes out with send_dimensions; a key only if given or in the environment."""
    await make().embed_passages(["a"])
    monkeypatch.setenv("OLVIDO_EMBEDDER_API_KEY", "k-2")
    await make(send_dimensions=True, encoding_format="base64").embed_passages(["a"])
    await make(api_key="").embed_passages(["a"])
    plain, full, empty = endpoint.requests
    assert "dimensions" not in plain.body
    assert "Authorization" not in plain.headers
    assert (full.body["dimensions"], full.body["encoding_format"]) == (DIMENSIONS, "base64")
    assert full.headers["Authorization"] == "Bearer k-2"
    assert "Authorization" not in empty.headers


@pytest.mark.parametrize("as_base64", [False, True])
async def test_rows_may_come_in_any_order(endpoint: Endpoint, make: Make, as_base64: bool) -> None:  # noqa: FBT001
    """The index of a row says which text it is of; numbers and base64 are taken, and all vectors are unit vectors."""
    texts = ["a", "b", "c"]
    endpoint.script.append(Reply(body=answer_of(rows_of(texts, as_base64=as_base64)[::-1])))
    vectors = await make().embed_passages(texts)
    assert vectors.dtype == np.float32
    assert vectors == pytest.approx(np.array([direction_of(text) for text in texts]), abs=1e-6)


def with_numbers(numbers: list[float]) -> bytes:
    """An answer for one text."""
    return answer_of([{"index": 0, "embedding": numbers}])


BAD = {
    "too few": (answer_of([]), EmbedderProblem.WRONG_COUNT),
    "too many": (answer_of(rows_of(["a", "b"])), EmbedderProblem.WRONG_COUNT),
    "another index": (answer_of([{**rows_of(["a"])[0], "index": 1}]), EmbedderProblem.WRONG_COUNT),
    "not a number": (with_numbers([NAN] + [1.0] * 7), EmbedderProblem.NO_DIRECTION),
    "infinite": (with_numbers([INFINITE] + [1.0] * 7), EmbedderProblem.NO_DIRECTION),
    "too large": (with_numbers([1e300] * 8), EmbedderProblem.NO_DIRECTION),
    "zero": (with_numbers([0.0] * 8), EmbedderProblem.NO_DIRECTION),
    "too short": (with_numbers([1.0] * 7), EmbedderProblem.WRONG_SIZE),
    "too long": (with_numbers([1.0] * 9), EmbedderProblem.WRONG_SIZE),
    "no numbers": (with_numbers([]), EmbedderProblem.WRONG_SIZE),
    "no base64": (answer_of([{"index": 0, "embedding": "?"}]), EmbedderProblem.WRONG_SIZE),
    "words": (answer_of([{"index": 0, "embedding": ["a"] * 8}]), EmbedderProblem.NOT_THE_PROTOCOL),
    "no index": (answer_of([{"embedding": [1.0] * 8}]), EmbedderProblem.NOT_THE_PROTOCOL),
    "no data": (b'{"error": "hello"}', EmbedderProblem.NOT_THE_PROTOCOL),
    "half": (answer_of(rows_of(["a"]))[:-9], EmbedderProblem.NOT_THE_PROTOCOL),
    "HTML": (b"<html>hello</html>", EmbedderProblem.NOT_THE_PROTOCOL),
    "bytes": (b"\xff\x00", EmbedderProblem.NOT_THE_PROTOCOL),
    "nothing": (b"", EmbedderProblem.NOT_THE_PROTOCOL),
}


@pytest.mark.parametrize("body, problem", BAD.values(), ids=BAD)
async def test_an_unusable_answer_is_refused(
    endpoint: Endpoint, make: Make, body: bytes, problem: EmbedderProblem
) -> None:
    """What cannot be ranked by is an unavailable embedder, with a word for what was wrong, and is not asked again."""
    endpoint.script.append(Reply(body=body))
    assert await problem_of(make()) is problem
    assert len(endpoint.requests) == 1


async def test_rows_of_different_lengths_are_refused(endpoint: Endpoint, make: Make) -> None:
    """Every vector has the length that was configured, not just the first one."""
    rows = rows_of(["a", "b"])
    rows[1]["embedding"].pop()
    endpoint.script.append(Reply(body=answer_of(rows)))
    with pytest.raises(EmbedderUnavailable) as refused:
        await make().embed_passages(["a", "b"])
    assert refused.value.problem is EmbedderProblem.WRONG_SIZE
    assert "Set dimensions" in str(refused.value)


REFUSED = {
    400: EmbedderProblem.REFUSED,
    401: EmbedderProblem.UNAUTHORIZED,
    403: EmbedderProblem.UNAUTHORIZED,
    404: EmbedderProblem.REFUSED,
    413: EmbedderProblem.REFUSED,
    204: EmbedderProblem.REFUSED,
}


@pytest.mark.parametrize("status, problem", REFUSED.items())
async def test_a_refusal_is_not_asked_again(
    endpoint: Endpoint, make: Make, status: int, problem: EmbedderProblem
) -> None:
    """What another try cannot change is tried once."""
    endpoint.script.append(Reply(status=status, body=b""))
    assert await problem_of(make()) is problem
    assert len(endpoint.requests) == 1


async def test_a_redirect_is_not_followed(endpoint: Endpoint, make: Make) -> None:
    """Texts and key go to the place that was configured and to no other."""
    other = Endpoint()
    try:
        endpoint.script.append(Reply(status=307, headers={"Location": f"{other.url}/embeddings"}, body=b""))
        assert await problem_of(make(api_key="k")) is EmbedderProblem.REDIRECTED
        assert other.requests == []
    finally:
        other.close()


TRANSIENT = {
    "busy": Reply(status=429, body=b""),
    "error": Reply(status=500, body=b""),
    "away": Reply(status=503, body=b""),
    "closed": Reply(drop=True),
}


@pytest.mark.parametrize("reply", TRANSIENT.values(), ids=TRANSIENT)
async def test_what_passes_is_tried_again(endpoint: Endpoint, make: Make, waits: Waits, reply: Reply) -> None:
    """After two failures the third try answers; each wait is a random part of a doubling, bounded time."""
    endpoint.script.extend([reply, reply])
    embedder = make()
    embedder._sleep = waits
    assert await embedder.embed_passages(["a"]) == pytest.approx(np.array([direction_of("a")]), abs=1e-6)
    assert len(endpoint.requests) == 3
    assert 0 <= waits[0] <= 2 * FIRST_WAIT
    assert 0 <= waits[1] <= LONGEST_WAIT


async def test_tries_are_bounded(endpoint: Endpoint, make: Make, waits: Waits) -> None:
    """With retries=1 there are two requests, whatever comes."""
    endpoint.script.extend([Reply(status=502, body=b"")] * 9)
    embedder = make(retries=1)
    embedder._sleep = waits
    assert await problem_of(embedder) is EmbedderProblem.SERVER_ERROR
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize("asked, least", [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("nan", 0.0), ("soon", 0.0)])
async def test_retry_after_is_respected(endpoint: Endpoint, make: Make, waits: Waits, asked: str, least: float) -> None:
    """The wait is what the endpoint asks for and a little more; what is no time is ignored."""
    endpoint.script.append(Reply(status=429, headers={"Retry-After": asked}, body=b""))
    embedder = make()
    embedder._sleep = waits
    await embedder.embed_passages(["a"])
    assert least <= waits[0] <= least + 2 * FIRST_WAIT


@pytest.mark.parametrize("asked", ["3600", "inf", "Fri, 31 Dec 9999 23:59:59 GMT"])
async def test_a_long_retry_after_is_not_waited_for(endpoint: Endpoint, make: Make, waits: Waits, asked: str) -> None:
    """What would take longer than patience has is given up at once; text recall goes on."""
    endpoint.script.append(Reply(status=429, headers={"Retry-After": asked}, body=b""))
    embedder = make()
    embedder._sleep = waits
    assert await problem_of(embedder) is EmbedderProblem.BUSY
    assert (len(endpoint.requests), waits) == (1, [])


@pytest.mark.parametrize("part", ["all", "body"])
async def test_a_server_that_hangs_is_left_alone_for_a_while(endpoint: Endpoint, make: Make, part: str) -> None:
    """A request ends in time, and the next calls fail at once instead of hanging as well, until the rest is over."""
    endpoint.script.extend([Reply(hang=part)] * 9)
    embedder = make(timeout=0.2, retries=0)
    now = 100.0
    embedder._now = lambda: now
    assert await problem_of(embedder) is EmbedderProblem.TIMED_OUT
    assert await problem_of(embedder) is EmbedderProblem.RESTING
    assert len(endpoint.requests) <= 1
    endpoint.script.clear()
    embedder._timeout = 30.0
    now += REST_SECONDS
    await embedder.embed_passages(["a"])
    now -= REST_SECONDS
    await embedder.embed_passages(["a"])


async def test_patience_bounds_tries_and_waits(endpoint: Endpoint, make: Make) -> None:
    """With long timeouts and many retries, a call still ends when its patience does."""
    endpoint.script.extend([Reply(hang="all")] * 9)
    assert await problem_of(make(timeout=30, patience=0.2, retries=9)) is EmbedderProblem.TIMED_OUT


async def test_nobody_there(make: Make) -> None:
    """A port where nothing listens is an unreachable embedder."""
    assert await problem_of(make(base_url="http://127.0.0.1:9/v1", retries=0)) is EmbedderProblem.UNREACHABLE


async def test_an_answer_without_end_is_cut(endpoint: Endpoint, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than vectors could take is not read into memory."""
    monkeypatch.setattr("olvido.adapters.embeddings_api.MOST_BYTES", 10)
    endpoint.script.append(Reply(body=answer_of(rows_of(["a"])) + b" " * 1000))
    assert await problem_of(make()) is EmbedderProblem.NOT_THE_PROTOCOL
    assert len(endpoint.requests) == 1


async def test_many_texts_go_in_several_requests(endpoint: Endpoint, make: Make) -> None:
    """No request has more texts or characters than allowed, and the rows are in the order of the texts."""
    texts = [f"text {number}" for number in range(10)] + ["x" * 40]
    vectors = await make(texts_per_request=3, characters_per_request=30).embed_passages(texts)
    assert vectors == pytest.approx(np.array([direction_of(text) for text in texts]), abs=1e-6)
    assert sorted(text for sent in endpoint.texts() for text in sent) == sorted(texts)
    assert all(len(sent) <= 3 for sent in endpoint.texts())
    assert all(len(sent) == 1 or len("".join(sent)) <= 30 for sent in endpoint.texts())


async def test_the_end_of_a_long_text_counts(endpoint: Endpoint, make: Make) -> None:
    """A text longer than one input is embedded in pieces, and its vector is their mean by length."""
    (vector,) = await make(characters_per_text=10).embed_passages(["one three five"])
    assert endpoint.texts() == [["one three ", "five"]]
    mean = 10 * direction_of("one three ") + 4 * direction_of("five")
    assert vector == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)


async def test_requests_run_at_once(endpoint: Endpoint, make: Make) -> None:
    """Two requests that wait for each other both end, so a call does not make them one after the other."""
    endpoint.gate = threading.Barrier(2)
    assert (await make(concurrency=2, texts_per_request=1).embed_passages(["a", "b", "c", "d"])).shape[0] == 4


async def test_requests_at_once_are_limited(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never more than allowed, for all callers together; a query is next in line behind a long list of texts."""
    inside = most = 0
    order: list[str] = []

    async def ask(_client: object, _url: str, body: dict[str, Any], **_: object) -> bytes:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        for _turn in range(50):  # whoever may come in does
            await asyncio.sleep(0)
        inside -= 1
        order.extend(body["input"])
        return answer_of(rows_of(body["input"]))

    monkeypatch.setattr("olvido.adapters.openai_compatible.ask", ask)
    embedder = make(concurrency=2, texts_per_request=1)
    texts = [f"text {number}" for number in range(20)]
    await asyncio.gather(embedder.embed_passages(texts), embedder.embed_query("q"), embedder.embed_passages(["end"]))
    assert most == 2
    assert len(order) == 22
    assert order.index("q") < 10


async def test_one_failure_ends_the_call(endpoint: Endpoint, make: Make) -> None:
    """Rows are all or none: one refused request is the answer, as a plain error."""
    endpoint.script.extend([Reply(), Reply(status=400, body=b"")])
    with pytest.raises(EmbedderUnavailable) as refused:
        await make(texts_per_request=1).embed_passages(["a", "b", "c"])
    assert refused.value.problem is EmbedderProblem.REFUSED


async def test_no_texts_is_no_request(endpoint: Endpoint, make: Make) -> None:
    """An empty list is not an error, and nobody is asked."""
    assert (await make().embed_passages([])).shape == (0, DIMENSIONS)
    assert endpoint.requests == []


async def test_the_centre_is_asked_for_once(endpoint: Endpoint, make: Make) -> None:
    """Everyday sentences are embedded as passages, by one request for all who need their mean."""
    embedder = make(passage_prefix="passage: ", query_prefix="query: ")
    centres = await asyncio.gather(*(embedder.centre() for _ in range(5)))
    assert len(endpoint.requests) == 1
    assert all(text.startswith("passage: ") for text in endpoint.texts()[0])
    mean = np.mean([direction_of(text) for text in endpoint.texts()[0]], axis=0)
    assert centres[0] == pytest.approx(mean, abs=1e-6)
    assert all(centre is centres[0] for centre in centres)


async def test_a_failed_query_is_asked_again(endpoint: Endpoint, make: Make) -> None:
    """Only vectors are kept; the same question after a failure is a new request, and then no more."""
    endpoint.script.append(Reply(status=400, body=b""))
    embedder = make()
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed_query("q")
    assert await embedder.embed_query("q") == pytest.approx(direction_of("q"), abs=1e-6)
    assert await embedder.embed_query("q") is await embedder.embed_query("q")
    assert len(endpoint.requests) == 2


def test_one_instance_serves_many_event_loops(endpoint: Endpoint, make: Make) -> None:
    """Loops of several threads, each gone after its call, share one embedder and its connections."""
    embedder = make()
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda text: asyncio.run(embedder.embed_query(text)), "abcdabcd"))
    for text, vector in zip("abcdabcd", found, strict=True):
        assert vector == pytest.approx(direction_of(text), abs=1e-6)
    assert len(endpoint.requests) == 4


async def test_closing_gives_up_what_runs(endpoint: Endpoint, make: Make) -> None:
    """Who waits for a server that hangs gets a typed error at once, later calls as well; closing twice is harmless."""
    endpoint.script.append(Reply(hang="all"))
    embedder = make()
    waiting = asyncio.create_task(problem_of(embedder))
    await asyncio.to_thread(endpoint.arrived.wait)
    await asyncio.to_thread(embedder.close)
    embedder.close()
    assert await waiting is EmbedderProblem.CLOSED
    assert await problem_of(embedder) is EmbedderProblem.CLOSED
    with pytest.raises(EmbedderUnavailable, match="closed"):
        await embedder.embed_query("q")
    assert not [thread for thread in threading.enumerate() if thread is embedder._loop._thread]


async def test_a_cancelled_call_cancels_its_request(endpoint: Endpoint, make: Make) -> None:
    """Who gives up does not hold a slot: the next call gets through although one was allowed at once."""
    endpoint.script.append(Reply(hang="all"))
    embedder = make(concurrency=1)
    given_up = asyncio.create_task(embedder.embed_passages(["a"]))
    await asyncio.to_thread(endpoint.arrived.wait)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    async with asyncio.timeout(10):
        assert (await embedder.embed_passages(["b"])).shape == (1, DIMENSIONS)


FORKING = """
import asyncio, os, sys
from olvido.embedders import OpenAICompatible
embedder = OpenAICompatible(base_url=sys.argv[1], model="m", dimensions=8)
asyncio.run(embedder.embed_query("parent"))
child = os.fork()
asyncio.run(embedder.embed_query("child" if child == 0 else "parent again"))
embedder.close()
if child != 0:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_process_makes_its_own_connection(endpoint: Endpoint) -> None:
    """Servers that fork their workers after start can go on using an embedder."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING, endpoint.url], check=False, timeout=60, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert sorted(text for texts in endpoint.texts() for text in texts) == ["child", "parent", "parent again"]


# case 73
async def test_the_model_gets_real_text(endpoint: Endpoint, make: Make) -> None:
    """Accents and emoji arrive as they are, also inside JSON."""
    await make().embed_passages(['{"nota":"niño 🎂"}'])
    assert endpoint.texts() == [['{"nota":"niño 🎂"}']]
