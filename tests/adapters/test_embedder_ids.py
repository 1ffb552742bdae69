"""The id of an embedder: what would give other vectors has another id."""

from __future__ import annotations

import itertools
import sys

import pytest

from olvido.embedders import OpenAICompatible
from olvido.errors import EmbedderUnavailable
from tests.adapters.conftest import Make

OTHERS: tuple[dict[str, object], ...] = (
    {},
    {"model": "n"},
    {"dimensions": 16},
    {"version": "2026-05"},
    {"model": "m@2026-05"},
    {"model": "m@2026-05", "version": "2"},
    {"passage_prefix": "passage: "},
    {"passage_prefix": "passage:"},
    {"passage_input_type": "passage: "},
)
SAME: tuple[dict[str, object], ...] = (
    {"base_url": "https://other.example/v1/"},
    {"api_key": "k"},
    {"query_prefix": "query: "},
    {"encoding_format": "base64"},
    {"timeout": 1, "texts_per_request": 1},
)


# case 87
def test_what_changes_vectors_changes_the_id(make: Make) -> None:
    """Model, version, length and what is said with a passage are told apart; two of them never look like a third."""
    ids = [make(**options).id for options in OTHERS]
    assert all(one != other for one, other in itertools.combinations(ids, 2))
    assert ids[0] == "m/8"
    assert ids[3] == "m@2026-05/8"


def test_what_does_not_change_vectors_leaves_the_id(make: Make) -> None:
    """The same model behind another address, with another key or asked in another way has the same vectors."""
    assert {make(**options).id for options in SAME} == {"m/8"}


@pytest.mark.parametrize("package", ["httpx2", "tenacity"])
def test_without_the_packages_the_extra_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the error says what to install."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(EmbedderUnavailable, match=r"olvido\[openai\]"):
        OpenAICompatible(base_url="http://127.0.0.1:9/v1", model="m", dimensions=8)
