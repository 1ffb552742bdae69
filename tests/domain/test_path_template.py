"""Templates of paths: each person has paths of their own, below one directory, on any file system."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olvido.domain.path_template import Name, PathTemplate, file_name

IDS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=60),
    st.text("aAáÁ.-_/\\%~: *", min_size=1, max_size=8),
    st.sampled_from(["..", ".", "ana", "Ana", "ANA", "a.b", "a%2eb", "a/b", "~", "a" * 200, "a" * 199 + "b"]),
)
PEOPLE = st.tuples(IDS, IDS)

TEMPLATES = [
    "{tenant}/{subject}",
    "{subject}/{tenant}/x",
    "{tenant}.{subject}",
    "exports/{tenant}-of.{subject}.*.json",
    "*.{tenant}.{subject}",
    "{tenant}/*/{subject}/*.txt",
]


def folded(text: str) -> str:
    """As a file system compares that takes case and accents for one."""
    return unicodedata.normalize("NFC", text.casefold())


@given(IDS, IDS)
def test_two_ids_never_have_one_name(one: str, other: str) -> None:
    """Also where a file system folds case or spellings; and no name leads anywhere or is too long."""
    names = [file_name(one), file_name(other)]
    assert (folded(names[0]) == folded(names[1])) == (one == other)
    assert all(re.fullmatch(r"[a-z0-9_%~-]{1,100}", name) for name in names)


@pytest.mark.parametrize("template", TEMPLATES)
@given(PEOPLE, PEOPLE, st.text("abz-_09", max_size=5))
def test_a_file_is_of_one_person(template: str, one: tuple[str, str], other: tuple[str, str], name: str) -> None:
    """The path of a person is found by the names of that person, and by those of no other."""
    parsed = PathTemplate.parse(template)
    path = parsed.path(*one, name)
    assert not path.startswith("/")
    assert ".." not in path.split("/")
    assert matches(path, parsed.names(*one))
    assert matches(path, parsed.names(*other)) == (one == other)


@pytest.mark.parametrize(
    "template",
    [
        "",
        "/{tenant}/{subject}",
        "{tenant}/{subject}/",
        "{tenant}/../{subject}",
        "{tenant}/./{subject}",
        "{tenant}//{subject}",
        "{subject}",
        "{tenant}",
        "{tenant}/{subject}/{subject}",
        "{tenant}/{user}.{subject}",
        "{tenant}-{subject}",
        "{tenant}{subject}",
        "{tenant}/{subject}*",
        "{tenant}/*{subject}",
        "{tenant}/{subject}.**",
        "{tenant}/{subject}/a b",
        "{tenant}/{subject}/[ab]",
        "{tenant}/{subject}/" + "a" * 51,
        "{tenant}/{subject}" + "/a" * 9,
    ],
)
def test_a_template_that_could_name_others_is_refused(template: str) -> None:
    """Nothing that leads out, mixes two persons in a name, or leaves one of the two ids out."""
    with pytest.raises(ValueError, match=r"\w"):
        PathTemplate.parse(template)


@pytest.mark.parametrize("name", ["a.b", "../x", "a/b", "a\0"])
def test_what_a_star_stands_for_has_no_dot_and_no_slash(name: str) -> None:
    """It could be taken for another person's part of the name."""
    with pytest.raises(ValueError, match="no dot"):
        PathTemplate.parse("{tenant}/{subject}.*").path("acme", "ana", name)


def matches(path: str, names: tuple[Name, ...]) -> bool:
    """Whether a path is one of those that a person's names stand for."""
    parts = path.split("/")
    return len(parts) == len(names) and all(
        part == name if isinstance(name, str) else name.fullmatch(part) is not None
        for part, name in zip(parts, names, strict=True)
    )
