"""`olvido policy`: check a policy file, explain it, describe it to an editor, and print lines to add to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from olvido.surfaces.cli.options import AsJson, PolicyFile, example
from olvido.surfaces.cli.runtime import answer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from olvido.domain.policy import Policy
    from olvido.domain.policy_explained import Kept, PolicyExplained
    from olvido.domain.policy_lines import Section

app = typer.Typer(no_args_is_help=True)
add_app = typer.Typer(no_args_is_help=True)
app.add_typer(
    add_app,
    name="add",
    help="Lines to add to a policy file.",
    epilog=example("olvido policy add preference seat"),
)

File = Annotated[Path | None, typer.Argument(help="A policy file; the default policy otherwise.", show_default=False)]
Name = Annotated[str, typer.Argument(help="What to call it, such as seat.", show_default=False)]


@app.command("check", epilog=example("olvido policy check my-policy.yaml"))
def check(file: File = None, as_json: AsJson = False) -> None:
    """Check a policy file. Every problem is named with the line to mend."""
    from olvido.bootstrap import read_policy

    policy = read_policy(file)
    answer(_policy_facts(policy), lambda: _policy(policy), as_json=as_json)


@app.command("explain", epilog=example("olvido policy explain my-policy.yaml"))
def explain(file: File = None, as_json: AsJson = False) -> None:
    """Say in words what a policy keeps, why, for how long, who may say it, and which copies are outside."""
    from olvido.bootstrap import read_policy
    from olvido.domain.policy_explained import explain as in_words

    explained = in_words(read_policy(file))
    answer(explained, lambda: _explained(explained), as_json=as_json)


@app.command("schema", epilog=example("olvido policy schema"))
def schema(
    as_json: Annotated[bool, typer.Option("--json", help="The answer is one JSON document with or without it.")] = True,
) -> None:
    """Print the JSON Schema of policy files, for an editor that completes and checks them."""
    from olvido.domain.policy_file import policy_schema

    answer(policy_schema(), lambda: "", as_json=as_json)


@add_app.command("preference", epilog=example("olvido policy add preference seat --policy my-policy.yaml"))
def add_preference(name: Name, policy: PolicyFile = None, as_json: AsJson = False) -> None:
    """Print the lines that define a new preference, to be put under `preferences:` and changed there."""
    from olvido.domain.policy_lines import Section

    _add(Section.PREFERENCES, name, policy, as_json=as_json)


@add_app.command("episode", epilog=example("olvido policy add episode visit --policy my-policy.yaml"))
def add_episode(name: Name, policy: PolicyFile = None, as_json: AsJson = False) -> None:
    """Print the lines that define a new kind of episode, to be put under `episodes:` and changed there."""
    from olvido.domain.policy_lines import Section

    _add(Section.EPISODES, name, policy, as_json=as_json)


def _add(section: Section, name: str, file: Path | None, *, as_json: bool) -> None:
    from rich.text import Text

    from olvido.bootstrap import read_policy

    lines = read_policy(file).new_definition(section, name)
    under = f"{section}s"
    # A comment on top, so that all of it can be pasted.
    human = f"  # under {under}:\n{lines}".rstrip("\n")
    answer({"under": under, "lines": lines}, lambda: Text(human), as_json=as_json)


def _policy_facts(policy: Policy) -> dict[str, object]:
    return {
        "name": policy.name,
        "version": policy.version,
        "purposes": sorted(policy.purposes),
        "preferences": sorted(policy.preferences),
        "episodes": sorted(policy.episodes),
        "live_state": sorted(policy.live_state),
        "copies": [copy.name for copy in policy.copies],
    }


def _policy(policy: Policy) -> RenderableType:
    from olvido.surfaces.terminal import cell, grid

    table = grid("defined", "names")
    for kind, names in _policy_facts(policy).items():
        table.add_row(kind, cell(", ".join(names) if isinstance(names, list) else names))
    table.caption = "No problems."
    table.caption_justify = "left"
    return table


def _explained(policy: PolicyExplained) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding

    from olvido.surfaces.terminal import cell

    parts: list[RenderableType] = [cell(f"Policy {policy.name}, {policy.version}", "bold")]

    def line(text: str, indent: int = 0, style: str = "") -> None:
        parts.append(Padding(cell(text, style), (0, 0, 0, indent), expand=False))

    for purpose in policy.purposes:
        default = " Reads that name no purpose get this one." if purpose.default else ""
        parts.append("")
        line(f"For the purpose {purpose.name} (lawful basis: {purpose.lawful_basis})", style="bold")
        line(f"{purpose.description}{default}", 2)
        for kept in purpose.keeps:
            for number, sentence in enumerate(_sentences(kept)):
                line(sentence, 4 if number else 2, "" if number else "cyan")
        if not purpose.keeps:
            line("Nothing is kept for it.", 2)
    parts.append("")
    line("Looked up, never kept" if policy.looked_up else "Nothing is named as live state.", style="bold")
    for found in policy.looked_up:
        line(f"{found.name}: consult {found.consult}", 2, "cyan")
        line(f"{found.description} Recognised in: {', '.join(found.languages)}.", 4)
    parts.append("")
    line(
        "Copies outside, which a forget reports as open" if policy.copies else "No copy outside is declared.", 0, "bold"
    )
    for copy in policy.copies:
        line(f"{copy.name}: {copy.kind} at {copy.holder}, gone after {copy.gone_after}", 2, "cyan")
        if copy.description is not None:
            line(copy.description, 4)
        line(copy.forgotten, 4)
    parts.append("")
    line("Anything else is refused: no purpose, no memory.")
    return Group(*parts)


def _sentences(kept: Kept) -> list[str]:
    history = f" Superseded values: {kept.history_kept_for}." if kept.history_kept_for is not None else ""
    return [
        f"{kept.kind} {kept.name}: {kept.description}"
        if kept.kind != kept.name[:-1]
        else f"{kept.name}: {kept.description}",
        *([f"Holds {kept.holds[0]}."] if len(kept.holds) == 1 else ["Holds", *(f"- {one}" for one in kept.holds)]),
        f"Kept for {kept.kept_for}.{history}",
        f"Said by {' or '.join(kept.said_by)}.",
        *kept.remarks,
    ]
