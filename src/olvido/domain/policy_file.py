"""Reading a policy file: every problem at once, each with the line to mend."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from olvido.domain.plain import counted
from olvido.domain.policy import Policy
from olvido.domain.policy_checks import Finding, Location, contradictions
from olvido.domain.policy_document import PolicyDocument
from olvido.domain.policy_yaml import Tree, YamlError, parse
from olvido.errors import InvalidPolicy

DEFAULT_POLICY = "default_policy.yaml"
MAX_CHARACTERS = 500_000
SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"

# They take the place of required parts that have problems of their own, so that the other parts can be compared.
_STAND_IN_PURPOSE = {"lawful_basis": "contract", "description": "stand-in"}
_STAND_INS: dict[str | int, object] = {
    "version": 1,
    "name": "stand-in",
    "default_purpose": "stand-in",
    "sessions": {"purpose": "stand-in", "retention": "1h"},
}

_MAPPING = "should be a mapping: indented lines of `key: value`"
_TYPES = "give `type`, one of: choice, text, integer, number, boolean"
_CONNECTORS = "give `type`, one of: registered, valkey, http, directory"
_MESSAGES = {
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "dict_type": _MAPPING,
    "union_tag_invalid": _TYPES,
    "union_tag_not_found": _TYPES,
    "tuple_type": "should be a list: [one, two]",
    "string_type": "should be text; put a number or true/false in quotes if it is meant as text",
    "json_invalid": "a text has an unpaired surrogate",
}


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Problem:
    """One thing to mend. line: counted from 1. path: the keys that lead there; empty for the file as a whole."""

    line: int
    path: str
    message: str

    def at(self, name: str) -> str:
        """`name:line: path: message`."""
        where = f"{name}:{self.line}: "
        return f"{where}{self.path}: {self.message}" if self.path else f"{where}{self.message}"


def load_policy(text: str, name: str) -> Policy:
    """The policy in `text`, the content of the file called `name`.

    Raises InvalidPolicy, whose message lists every problem as `name:line: message`, one a line.
    """
    document, problems = _read(text)
    if document is not None and not problems:
        return Policy.of(document)
    listed = "\n".join(problem.at(name) for problem in problems)
    raise InvalidPolicy(f"{counted(len(problems), 'problem')} in the policy. Mend:\n{listed}")


def policy_problems(text: str) -> tuple[Problem, ...]:
    """What `load_policy` would refuse in `text`, in the order of its lines; empty for a good policy."""
    return _read(text)[1]


def default_policy_text() -> str:
    """The policy file that ships inside: a support assistant, with comments; a place to start from."""
    return files("olvido").joinpath(DEFAULT_POLICY).read_text(encoding="utf-8")


@cache
def default_policy() -> Policy:
    """The policy that holds when none is given."""
    return load_policy(default_policy_text(), DEFAULT_POLICY)


def policy_schema() -> dict[str, Any]:
    """JSON Schema of a policy file, for editors. What parts say about each other is for `load_policy` to check."""
    return {"$schema": SCHEMA_DIALECT, **PolicyDocument.model_json_schema()}


def _read(text: str) -> tuple[PolicyDocument | None, tuple[Problem, ...]]:
    if len(text) > MAX_CHARACTERS:
        return None, (Problem(line=1, path="", message=f"the file is longer than {MAX_CHARACTERS} characters"),)
    try:
        tree = parse(text)
    except YamlError as error:
        return None, (Problem(line=error.line, path="", message=error.message),)
    problems = {
        Problem(line=line, path="", message=f"`{key}` is given twice here; keep one") for line, key in tree.repeated
    }
    document, malformed = _validate(tree.data)
    problems |= {_problem(tree, finding) for finding in malformed}
    complete = document or _without(tree.data, [location for location, _ in malformed])
    if complete is not None:
        doubtful = {location[:2] for location, _ in malformed} | _replaced(tree.data, malformed)
        if any(location[:1] == ("episodes",) for location, _ in malformed):
            doubtful.add(("sessions", "hand_over"))  # which may name the episode that is malformed
        problems |= {
            _problem(tree, finding)
            for finding in contradictions(complete)
            if finding[0][:2] not in doubtful and finding[0][:1] not in doubtful
        }
    return document, tuple(sorted(problems))


def _problem(tree: Tree, finding: Finding) -> Problem:
    place = tree.place(finding[0])
    return Problem(line=place.line, path=place.path, message=finding[1])


def _validate(data: object) -> tuple[PolicyDocument | None, list[Finding]]:
    """Validate as JSON: YAML has lists and words where the document has tuples and enumerations."""
    try:
        return PolicyDocument.model_validate_json(json.dumps(data)), []
    except ValidationError as error:
        return None, list(_findings(error.errors(include_url=False, include_input=False)))


def _findings(errors: list[ErrorDetails]) -> Iterator[Finding]:
    """What pydantic found, in words for who writes the file, without what only follows from another finding."""
    missing = {tuple(error["loc"]) for error in errors if error["type"] == "missing"}
    misspelt = dict(_misspelt((error["loc"] for error in errors if error["type"] == "extra_forbidden"), missing))
    follows = {*(("missing", meant) for meant in misspelt.values()), *(("too_short", e["loc"][:-1]) for e in errors)}
    for error in errors:
        kind, location = error["type"], tuple(part for part in error["loc"] if part != "[key]")
        if (kind, location) in follows or kind == "default_factory_not_called":
            continue
        if kind == "missing":
            yield location, f"`{location[-1]}` is missing"
        elif location in misspelt:
            yield location, f"`{location[-1]}` is not a key here; did you mean `{misspelt[location][-1]}`?"
        elif kind == "extra_forbidden":
            yield location, f"`{location[-1]}` is not a key here; there are: {', '.join(_known_keys(location[:-1]))}"
        elif kind.startswith("union_tag_") and location[-1:] == ("connector",):
            yield location, _CONNECTORS
        else:
            yield location, _MESSAGES.get(kind, error["msg"].removeprefix("Input ").replace("Tuple", "the list", 1))


def _misspelt(unknown: Iterable[Location], missing: Collection[Location]) -> Iterator[tuple[Location, Location]]:
    """Unknown keys, and the key that each is probably meant to be: one that is missing, if any is like it."""
    for location in unknown:
        known = _known_keys(location[:-1])
        lacking = [key for key in known if (*location[:-1], key) in missing]
        close = [*_like(location[-1], lacking), *_like(location[-1], known)]
        if close:
            yield location, (*location[:-1], close[0])


def _like(key: str | int, known: list[str]) -> list[str]:
    return difflib.get_close_matches(str(key), known, n=1, cutoff=0.5)


def _known_keys(location: Location) -> list[str]:
    """The keys that the schema knows at `location`."""
    schema = policy_schema()

    def resolved(node: dict[str, Any]) -> dict[str, Any]:
        if "anyOf" in node:  # an optional part: what it is when it is given
            node = node["anyOf"][0]
        return schema["$defs"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node

    node: dict[str, Any] = schema
    for part in location:
        node = resolved(node)
        if "discriminator" in node:
            node = {"$ref": node["discriminator"]["mapping"][part]}
        elif "items" in node:
            node = node["items"]
        else:
            node = node.get("properties", {}).get(part) or node["additionalProperties"]
    return list(resolved(node).get("properties", {}))


def _replaced(data: object, malformed: list[Finding]) -> set[Location]:
    """The required parts that `_without` replaces by stand-ins, which contradict others without meaning it."""
    given = data if isinstance(data, dict) else {}
    broken = {location[:1] for location, _ in malformed}
    return {(name,) for name in _STAND_INS if (name,) in broken or name not in given}


def _without(data: object, broken: list[Location]) -> PolicyDocument | None:
    """The document without its malformed entries, so that the rest can be checked too; None if that is not enough."""
    if not isinstance(data, dict) or () in broken:
        return None
    rest: dict[str | int, Any] = {**_STAND_INS, **deepcopy(data)}
    for section, *entry in broken:
        content = rest.get(section)
        if section in _STAND_INS:
            rest[section] = _STAND_INS[section]
        elif section == "purposes" and isinstance(content, dict) and entry:
            content[entry[0]] = _STAND_IN_PURPOSE
        elif isinstance(content, dict) and entry:
            content.pop(entry[0], None)
        elif isinstance(content, list) and entry and isinstance(entry[0], int):
            content[entry[0]] = None
        else:
            rest.pop(section, None)
    if isinstance(rest.get("copies"), list):
        rest["copies"] = [copy for copy in rest["copies"] if copy is not None]
    return _validate(rest)[0]
