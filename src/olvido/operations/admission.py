"""What every write passes before anything is stored: granted origin, accepted origin, no credential in the text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from olvido.domain.origin import Origin, OriginClass
from olvido.domain.policy_values import TextValue
from olvido.domain.records import JsonScalar
from olvido.domain.redaction import WITH_MASKS, screen
from olvido.errors import OriginNotAccepted, SecretRefused

CARD_NUMBER = "card_number"


class Accepting(Protocol):
    """A rule of the policy that says which origin classes it takes."""

    @property
    def origins(self) -> tuple[OriginClass, ...]:
        """Origin classes that may be stored."""

    def accepts(self, origin_class: OriginClass) -> bool:
        """Whether one of them is `origin_class`."""


def require_accepted(rule: Accepting, origin: Origin, name: str, *, clean: bool = False) -> None:
    """Raise unless the policy takes this origin for `name`, a name from the policy.

    clean: `is_clean` says that the origin carries no credential.
    Raises OriginNotAccepted, and SecretRefused if the origin carries a credential.
    """
    if not clean:
        refuse_credentials_in(origin)
    if not rule.accepts(origin.origin_class):
        accepted = ", ".join(rule.origins)
        raise OriginNotAccepted(
            f"The policy takes {name} only as {accepted}; this one is {origin.origin_class}. "
            "Have the person confirm it, or store it as an observed episode."
        )


def check_text(value: object, name: str, limit: int) -> str:
    """Return `value` in NFC if it is text of 1 to `limit` characters. Raises InvalidValue."""
    return str(TextValue(type="text", max_length=limit, multiline=True).check(value, name))


def mask(text: str) -> tuple[str, tuple[str, ...]]:
    """`text` with every credential masked, and the kinds that were found (rule 27)."""
    screened = screen(text)
    return screened.text, screened.masked


def masked_text(value: object, name: str, limit: int) -> str:
    """`value` in NFC with every credential masked, of 1 to `limit` characters before and after. Raises InvalidValue."""
    text, kinds = mask(check_text(value, name, limit))
    return check_text(text, f"{name}{WITH_MASKS}", limit) if kinds else text


def mask_fields(fields: Mapping[str, JsonScalar]) -> tuple[dict[str, JsonScalar], tuple[str, ...]]:
    """`fields` with every credential masked in its texts, and the kinds that were found."""
    masked: dict[str, JsonScalar] = {}
    found: list[str] = []
    for name, value in fields.items():
        if isinstance(value, str):
            masked[name], kinds = mask(value)
            found.extend(kinds)
        else:
            masked[name] = value
    return masked, tuple(dict.fromkeys(found))


def refuse_secret(value: JsonScalar, name: str) -> None:
    """Raise SecretRefused if a value that cannot be masked without changing its meaning carries a credential."""
    if isinstance(value, str):
        kinds = screen(value).masked
        if kinds:
            raise SecretRefused(f"{name} looks like it carries {', '.join(kinds)}. Credentials are never stored.")


def refuse_credentials_in(origin: Origin) -> None:
    """Raise SecretRefused if an origin carries a credential."""
    refuse_credential(origin_source=origin.source, origin_ref=origin.ref, origin_actor=origin.actor)


def refuse_credential(**identifiers: str | None) -> None:
    """Raise SecretRefused if an identifier carries a credential: it cannot be masked and still find its record.

    A card number is let through: one in ten order numbers of sixteen digits passes the check of a card.
    """
    for name, value in identifiers.items():
        kinds = [kind for kind in screen(value).masked if kind != CARD_NUMBER] if value else ()
        if kinds:
            raise SecretRefused(
                f"{name} looks like it carries {', '.join(kinds)}. Credentials are never stored; pass another id."
            )
