"""What an endpoint may be configured with. Errors name the parameter and never repeat what was given for it."""

from __future__ import annotations

import re
from math import isfinite
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr

from olvido.errors import InvalidInput

LONGEST_NAME = 200
_WORD = re.compile(r"[A-Za-z0-9._-]+")


def checked_url(base_url: object) -> str:
    """`base_url` without a slash at its end. Raises InvalidInput."""
    parts = _split(base_url)
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidInput('base_url must be an http or https URL, such as "https://api.openai.com/v1".')
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InvalidInput("base_url must have no user, password, query or fragment; a key goes into api_key.")
    url = parts.geturl().rstrip("/")
    if url.endswith("/embeddings"):
        raise InvalidInput("base_url must end before /embeddings, which is added to it.")
    return url


def checked_key(api_key: object) -> SecretStr | None:
    """The key, hidden from every repr; None if it is None or empty. Raises InvalidInput."""
    if api_key is None or api_key == "":
        return None
    if not isinstance(api_key, str) or not api_key.isascii() or not api_key.isprintable() or " " in api_key:
        raise InvalidInput("api_key must be printable ASCII without spaces. Look for a line end that was copied along.")
    return SecretStr(api_key)


def name(given: object, parameter: str, *, is_word: bool = False) -> str:
    """A name of at most 200 characters; with is_word of letters, digits, dots, hyphens and underscores."""
    if (
        not isinstance(given, str)
        or not 1 <= len(given) <= LONGEST_NAME
        or not given.isprintable()
        or not given.strip()
    ):
        raise InvalidInput(f"{parameter} must be a name of 1 to {LONGEST_NAME} printable characters.")
    if is_word and _WORD.fullmatch(given) is None:
        raise InvalidInput(f"{parameter} may have letters, digits, dots, hyphens and underscores only.")
    return given


def words(given: object, parameter: str) -> str:
    """Text that may be put before another: at most 200 characters, and it may be empty."""
    if not isinstance(given, str) or len(given) > LONGEST_NAME or not given.replace("\n", "").isprintable():
        raise InvalidInput(f"{parameter} must be text of at most {LONGEST_NAME} printable characters.")
    return given


def whole(given: object, parameter: str, *, least: int, most: int | None = None) -> int:
    """A whole number in a range, both ends included."""
    if type(given) is not int or given < least or (most is not None and given > most):
        upper = "" if most is None else f" and at most {most}"
        raise InvalidInput(f"{parameter} must be a whole number, at least {least}{upper}.")
    return given


def number(given: object, parameter: str) -> float:
    """A finite number of seconds above 0."""
    if isinstance(given, bool) or not isinstance(given, int | float) or not isfinite(given) or given <= 0:
        raise InvalidInput(f"{parameter} must be more than 0 seconds.")
    return float(given)


def _split(base_url: object) -> SplitResult | None:
    if not isinstance(base_url, str) or not base_url.isprintable() or " " in base_url:
        return None
    try:
        parts = urlsplit(base_url)
        parts.port  # noqa: B018 - reading it is the check
    except ValueError:
        return None
    return parts
