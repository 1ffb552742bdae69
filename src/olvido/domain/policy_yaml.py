"""YAML that remembers its lines.

A narrow YAML: plain data only, keys given once, and `true` and `false` as the only booleans, so that the language code
`no` stays a word (YAML 1.1 reads it as false).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import yaml
from yaml.constructor import SafeConstructor

from olvido.domain.policy_values import nfc

MAX_VALUES = 20_000
_TAG = "tag:yaml.org,2002:"
_MERGE = f"{_TAG}merge"


class _Loader(yaml.SafeLoader):
    yaml_constructors: ClassVar[dict[Any, Any]] = {
        **{
            f"{_TAG}{name}": SafeConstructor.yaml_constructors[f"{_TAG}{name}"]
            for name in ("null", "bool", "int", "float", "str", "seq", "map")
        },
        None: SafeConstructor.yaml_constructors[None],
    }


_Loader.yaml_implicit_resolvers = {}
# The scalars of the YAML 1.2 core schema, and merge keys.
for _name, _pattern, _first in (
    ("null", r"~|null|", ["~", "n", ""]),
    ("bool", r"true|false", list("tf")),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", list("-+0123456789")),
    ("float", r"[-+]?[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)", list("-+0123456789")),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"{_TAG}{_name}", re.compile(rf"(?:{_pattern})\Z"), _first)


class YamlError(Exception):
    """The text is not YAML of this kind. line: counted from 1."""

    def __init__(self, *, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a location is. line: counted from 1. path: the keys that lead there, as `preferences.language.value`."""

    line: int
    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """A parsed file: its data, and the nodes that know their lines.

    repeated: keys that a mapping gives twice, with the line of the second; the data has its value.
    """

    data: object
    root: yaml.Node
    repeated: tuple[tuple[int, str], ...]

    def place(self, location: tuple[str | int, ...]) -> Place:
        """The place of the deepest part of `location` that the file has."""
        node, line, path = self.root, self.root.start_mark.line, list[str]()
        for part in location:
            found = _step(node, part)
            if found is not None:
                line, node = found
                path.append(str(part))
        return Place(line=line + 1, path=".".join(path))


def parse(text: str) -> Tree:
    """Read one YAML document. Raises YamlError."""
    try:
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
            if root is None:
                raise YamlError(line=1, message="the file is empty")
            _refuse_bombs(root)
            repeated = tuple(_repeated_keys(root))  # before construction, which writes merged keys into the nodes
            return Tree(data=loader.construct_document(root), root=root, repeated=repeated)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(line=mark.line + 1 if mark else 1, message=str(error.problem or error.context)) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlError(line=line, message="a character that YAML does not allow") from None
    except RecursionError:
        raise YamlError(line=1, message="nested too deeply") from None


def _step(node: yaml.Node, part: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.SequenceNode):
        if isinstance(part, int) and part < len(node.value):
            return node.value[part].start_mark.line, node.value[part]
        return None
    if not isinstance(node, yaml.MappingNode):
        return None
    for key, value in reversed(node.value):  # the last one counts
        if isinstance(key, yaml.ScalarNode) and nfc(key.value) == nfc(str(part)):
            return key.start_mark.line, value
    return None


def _repeated_keys(root: yaml.Node) -> Iterator[tuple[int, str]]:
    for node in _nodes(root):
        seen: set[str] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            name = nfc(str(key.value))
            if name in seen and key.tag != _MERGE:
                yield key.start_mark.line + 1, name
            seen.add(name)


def _nodes(root: yaml.Node) -> list[yaml.Node]:
    """Every node once, in the order of the file."""
    found: dict[int, yaml.Node] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting += _children(node)
    return sorted(found.values(), key=lambda node: node.start_mark.index)


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _refuse_bombs(root: yaml.Node) -> None:
    """Refuse anchors that refer to themselves, or that expand to more values than any policy has."""
    waiting, visited = [root], 0
    while waiting:
        visited += 1
        if visited > MAX_VALUES:
            raise YamlError(
                line=root.start_mark.line + 1,
                message=f"more than {MAX_VALUES} values once its anchors are expanded",
            )
        waiting += _children(waiting.pop())
