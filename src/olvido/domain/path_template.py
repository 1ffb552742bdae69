"""Where the files of a person lie below a directory: a template, and one safe name for each id.

A template is a relative path in which `{tenant}` and `{subject}` stand for ids and `*` for any text without a dot:

    {tenant}/{subject}                  a directory or a file of each person
    exports/{tenant}.{subject}.*.json   several files of each person in one directory

Two ids never have one name, and no id leads out of the directory.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from itertools import pairwise

LONGEST_NAME = 100
"""Characters of a name; a longer one is a digest. Two of them and what is between fit in a name of 255 bytes."""
LONGEST_COMPONENT = 50
"""Characters of a component, not counting what stands for ids."""
MOST_COMPONENTS = 10

_PARTS = re.compile(r"\{tenant\}|\{subject\}|\*|[\w.=+,@-]+", re.ASCII)
_PLACES = ("{tenant}", "{subject}")
_ANY = "*"
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")

Name = str | re.Pattern[str]
"""The one name that a component has, or what its names match as a whole."""


def file_name(identifier: str) -> str:
    """An id as part of a file name: lower-case ASCII letters, digits, `_` and `-` stay, any other byte becomes %xx.

    So a name has no dot, no slash and no capital, and two ids differ in it also where a file system takes upper and
    lower case, or two spellings of an accent, for one. A longer name than 100 characters is `~` and a digest instead.
    """
    raw = identifier.encode()
    name = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in raw)
    return name if len(name) <= LONGEST_NAME else f"~{hashlib.blake2b(raw, digest_size=32).hexdigest()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class PathTemplate:
    """A template that was read. components: the parts of each, outermost first."""

    components: tuple[tuple[str, ...], ...]

    @classmethod
    def parse(cls, text: str) -> PathTemplate:
        """Read a template. Raises ValueError, whose message says what to mend."""
        components = text.split("/")
        if not 1 <= len(components) <= MOST_COMPONENTS or any(part in {"", ".", ".."} for part in components):
            raise ValueError("write it as a path such as {tenant}/{subject}, without `.`, `..` and empty parts")
        parsed = tuple(_component(component) for component in components)
        flat = [part for parts in parsed for part in parts]
        if any(flat.count(place) != 1 for place in _PLACES):
            raise ValueError("it needs {tenant} and {subject}, each once: otherwise it would name files of others")
        return cls(components=parsed)

    def names(self, tenant: str, subject: str) -> tuple[Name, ...]:
        """What the components of this person are called, outermost first."""
        return tuple(_name(parts, tenant, subject) for parts in self.components)

    def path(self, tenant: str, subject: str, name: str = "") -> str:
        """The path of one file of this person. name: what `*` is. Raises ValueError if it has a dot or a slash."""
        if re.fullmatch(r"[^./\0]*", name) is None:
            raise ValueError("what * stands for has no dot and no slash")
        given = {"{tenant}": file_name(tenant), "{subject}": file_name(subject), _ANY: name}
        return "/".join("".join(given.get(part, part) for part in parts) for parts in self.components)

    @property
    def personal_from(self) -> int:
        """The number of the outermost component that is of one person: the later of tenant and subject."""
        return max(number for number, parts in enumerate(self.components) if {*_PLACES} & {*parts})


def _component(text: str) -> tuple[str, ...]:
    parts = tuple(_PARTS.findall(text))
    if "".join(parts) != text:
        raise ValueError("use {tenant}, {subject}, *, and letters, digits and _ . = + , @ - around them")
    moving = [number for number, part in enumerate(parts) if part in {*_PLACES, _ANY}]
    if any("." not in "".join(parts[one + 1 : other]) for one, other in pairwise(moving)):
        raise ValueError("put a dot or a slash between {tenant}, {subject} and *, or one name would be of two persons")
    if sum(len(part) for part in parts if part not in _PLACES) > LONGEST_COMPONENT:
        raise ValueError(f"a part has at most {LONGEST_COMPONENT} characters beside {{tenant}} and {{subject}}")
    return parts


def _name(parts: tuple[str, ...], tenant: str, subject: str) -> Name:
    given = {"{tenant}": file_name(tenant), "{subject}": file_name(subject)}
    if _ANY not in parts:
        return "".join(given.get(part, part) for part in parts)
    return re.compile("".join(r"[^./]*" if part == _ANY else re.escape(given.get(part, part)) for part in parts))
