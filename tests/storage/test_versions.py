"""What start-up asks of the server: its version, pgvector, unaccent and the encoding of the database."""

from __future__ import annotations

import pytest

from olvido.storage import guard


@pytest.mark.parametrize(
    "server, found",
    [
        ({"server_version": 180006, "pgvector_version": "0.8.6", "has_unaccent": True}, set()),
        ({"server_version": 170000, "pgvector_version": "0.8.4", "has_unaccent": True}, set()),
        ({"server_version": 170000, "pgvector_version": "0.10.0", "has_unaccent": True}, set()),
        ({"server_version": 170000, "pgvector_version": "1.0", "has_unaccent": True}, set()),
        (
            {"server_version": 169999, "pgvector_version": "0.8.4", "has_unaccent": True},
            {"old_server"},
        ),
        (
            {"server_version": 180006, "pgvector_version": "0.8.3", "has_unaccent": True},
            {"old_pgvector"},
        ),
        (
            {"server_version": 180006, "pgvector_version": "0.8", "has_unaccent": True},
            {"old_pgvector"},
        ),
        (
            {"server_version": 180006, "pgvector_version": None, "has_unaccent": False},
            {"old_pgvector", "no_unaccent"},
        ),
    ],
)
def test_versions_that_are_too_old_are_found(server: dict[str, object], found: set[str]) -> None:
    """PostgreSQL before 17, pgvector before 0.8.4, no unaccent and another encoding are refused; newer ones are not."""
    assert {finding.code for finding in guard._versions({"encoding": "UTF8", **server})} == found
