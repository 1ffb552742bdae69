"""Neither a text nor the key is in a log, an error or a repr, whatever the endpoint does."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator

import pytest

from olvido.embedders import OpenAICompatible
from olvido.errors import EmbedderUnavailable, InvalidInput
from tests.adapters.conftest import Make, Waits
from tests.adapters.endpoint import DIMENSIONS, Endpoint, Reply, answer_of

TEXT = "canary" + "b4e8"
KEY = "key" + "91ac"
"""Put together, so that a traceback's source lines do not hold them."""
ECHO = f"You sent {TEXT} with {KEY}".encode()

REPLIES = {
    "good": Reply(),
    "busy": Reply(status=429, body=ECHO),
    "error": Reply(status=500, body=ECHO),
    "refused": Reply(status=400, body=ECHO),
    "redirect": Reply(status=302, headers={"Location": "http://127.0.0.1:9/other"}, body=ECHO),
    "HTML": Reply(body=ECHO),
    "its own answer": Reply(body=answer_of([{"index": 0, "embedding": [TEXT, KEY]}])),
    "base64": Reply(body=answer_of([{"index": 0, "embedding": f"{TEXT}?"}])),
    "zero": Reply(body=answer_of([{"index": 0, "embedding": [0.0] * DIMENSIONS, "text": TEXT}])),
    "closed": Reply(drop=True),
    "hangs": Reply(hang="all"),
}


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and each that was there when it was raised, shown or not."""
    while error is not None:
        yield error
        error = error.__context__


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
async def test_no_output_holds_text_or_key(
    endpoint: Endpoint, make: Make, waits: Waits, reply: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    """At DEBUG, with the client's own loggers: not in a record, a message, a traceback or a hidden cause."""
    caplog.set_level(logging.DEBUG)
    endpoint.script.extend([reply] * 3)
    embedder = make(api_key=KEY, **({"timeout": 1, "retries": 0} if reply.hang else {}))
    embedder._sleep = waits
    said = [repr(embedder), embedder.id]
    try:
        await embedder.embed_query(TEXT)
    except EmbedderUnavailable as error:
        said += ["".join(traceback.format_exception(error)), *(repr(cause) for cause in chain(error))]
    said += [caplog.text, *(repr(vars(record)) for record in caplog.records)]
    assert endpoint.texts()[0] == [TEXT]
    assert endpoint.requests[0].headers["Authorization"].endswith(KEY)
    assert any("httpcore2" in line for line in said)
    assert not [line for line in said if TEXT in line or KEY in line]


GOOD = {"base_url": "http://127.0.0.1:9/v1", "model": "m", "dimensions": DIMENSIONS}
WRONG = {
    "no URL": {"base_url": f"ftp://{KEY}/v1"},
    "no host": {"base_url": "http:///v1"},
    "no port": {"base_url": f"http://h:{KEY}/v1"},
    "a line end": {"base_url": f"http://h/{KEY}\n"},
    "user in URL": {"base_url": f"https://{KEY}@h/v1"},
    "password in URL": {"base_url": f"https://u:{KEY}@h/v1"},
    "query": {"base_url": f"https://h/v1?key={KEY}"},
    "fragment": {"base_url": f"https://h/v1#{KEY}"},
    "whole address": {"base_url": "https://h/v1/embeddings/"},
    "none": {"base_url": None},
    "blank model": {"model": " "},
    "long model": {"model": "m" * 201},
    "model with a line end": {"model": "m\n"},
    "version": {"version": "v/1"},
    "empty version": {"version": ""},
    "no dimensions": {"dimensions": 0},
    "too many dimensions": {"dimensions": 3585},
    "dimensions as text": {"dimensions": "384"},
    "true": {"dimensions": True},
    "key with a line end": {"api_key": f"{KEY}\n"},
    "key with a space": {"api_key": f"Bearer {KEY}"},
    "key not ASCII": {"api_key": f"{KEY}ñ"},
    "format": {"encoding_format": "hex"},
    "prefix": {"query_prefix": None},
    "half a character": {"passage_prefix": "\ud83d"},
    "input type": {"query_input_type": ""},
    "no texts": {"texts_per_request": 0},
    "no characters": {"characters_per_request": 0},
    "no text": {"characters_per_text": 0},
    "no requests": {"concurrency": 0},
    "no time": {"timeout": 0},
    "no end": {"patience": float("inf")},
    "many tries": {"retries": 11},
}


@pytest.mark.parametrize("options", WRONG.values(), ids=WRONG)
def test_wrong_options_are_named(options: dict[str, object]) -> None:
    """The error says which parameter cannot be, and does not repeat what may hold a key."""
    with pytest.raises(InvalidInput, match=next(iter(options))) as refused:
        OpenAICompatible(**{**GOOD, **options})  # type: ignore[arg-type]
    assert KEY not in "".join(traceback.format_exception(refused.value))
    assert "canary" not in repr(refused.value)
