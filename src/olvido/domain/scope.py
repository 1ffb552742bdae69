"""The scope of a personal record: one tenant and one subject (rules 1 and 2)."""

from __future__ import annotations

from dataclasses import dataclass

from olvido.domain.identifiers import required_identifier


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """Whose memory this is.

    tenant: the company, 1 to 200 bytes of UTF-8.
    subject: the person remembered, as the company names them; the same name at two tenants is two people.

    Both are compared by equality of bytes: `Ines`, `ines` and `ines ` are three people, and so are the composed and
    the decomposed spelling of an accent. Raises InvalidScope for what cannot serve as an id.
    """

    tenant: str
    subject: str

    def __post_init__(self) -> None:
        required_identifier(self.tenant, "tenant")
        required_identifier(self.subject, "subject")
