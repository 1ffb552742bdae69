"""The lines of a policy file that would allow what it does not define yet (rule 26)."""

from __future__ import annotations

from enum import StrEnum


class Section(StrEnum):
    """The sections that definitions are added to. The value is what one of them is called."""

    PREFERENCES = "preference"
    EPISODES = "episode"


_LINES = {
    Section.PREFERENCES: """\
  {name}:
    description: what it is for
    purpose: {purpose}
    value: {{type: text, max_length: 80}}
    origins: [declared]
    retention: 365d
""",
    Section.EPISODES: """\
  {name}:
    description: what happened
    purpose: {purpose}
    origins: [observed]
    retention: 365d
    statuses: [open, closed]
    fields:
      summary: {{type: text, max_length: 500}}
    searchable: [summary, status]
""",
}

HAND_OVER = """\
  hand_over:
    episode: {definition}
    fields: {{{field}: goal}}
"""


def definition_lines(section: Section, name: str, purpose: str) -> str:
    """A definition to start from, indented for its section. name: a key of a policy. purpose: one it declares."""
    return _LINES[section].format(name=name, purpose=purpose)
