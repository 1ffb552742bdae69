"""Derive the sync face from the async one: `make sync` writes it, a test compares it with what is committed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEMORY = ROOT / "src" / "olvido" / "memory"
TARGET = ROOT / "src" / "olvido" / "sync" / "memory.py"
SOURCES = ("session.py", "scoped.py", "store.py")
FACES = ("SessionMemory", "ScopedMemory", "Memory")

HEADER = '''"""The sync face. Derived from `olvido.memory` by tools/generate_sync.py: do not edit, run `make sync`."""

from __future__ import annotations
'''

FIRST = {
    "SessionMemory": "The session of one person, for callers without an event loop. See `olvido.memory.SessionMemory`.",
    "ScopedMemory": "The memory of one person, for callers without an event loop. See `olvido.memory.ScopedMemory`.",
    "Memory": "One open Olvido, for callers without an event loop. See `olvido.memory.Memory`.",
}


def main() -> int:
    """Write the face, or with --check compare it. The exit code is 1 if they differ."""
    wanted = derived()
    if "--check" in sys.argv[1:]:
        if TARGET.read_text(encoding="utf-8") != wanted:
            print("src/olvido/sync/memory.py is not what the async face gives; run make sync")
            return 1
        return 0
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


def derived() -> str:
    """The text of the sync face."""
    trees = [ast.parse((MEMORY / name).read_text(encoding="utf-8")) for name in SOURCES]
    imports = [
        node
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        and node.module != "__future__"
        and not (node.module or "").startswith(("olvido.memory", "olvido.storage"))
    ]
    faces = [
        face(node) for tree in trees for node in tree.body if isinstance(node, ast.ClassDef) and node.name in FACES
    ]
    extra = "from olvido import memory as core\nfrom olvido.sync.portal import Portal\n"
    text = HEADER + "\n".join(ast.unparse(node) for node in imports) + "\n" + extra + "\n\n" + "\n\n".join(faces)
    return tidied(text)


def face(node: ast.ClassDef) -> str:
    """One class: the same public methods, each waiting for the async one."""
    lines = [
        f"class {node.name}:",
        f'    """{FIRST[node.name]}"""',
        "",
        f"    def __init__(self, portal: Portal, inner: core.{node.name}) -> None:",
        "        self._portal = portal",
        "        self._inner = inner",
        "",
    ]
    manages = False
    for member in node.body:
        if not isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        manages = manages or member.name in {"__enter__", "__aenter__"}
        if not member.name.startswith("_"):
            lines.append(method(member, node.name))
    if manages:
        lines.append(_ENDING.format(leave="self.close()" if node.name == "Memory" else "return None"))
    return "\n".join(lines)


_CLOSING = """if self._portal.is_open:
            try:
                self._portal.call({call})
            except InvalidInput:
                if self._portal.is_open:  # it comes from inside a call; otherwise another thread was first
                    raise
            self._portal.close()"""

_ENDING = """    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        {leave}
"""


def method(member: ast.FunctionDef | ast.AsyncFunctionDef, owner: str) -> str:
    """One method with the signature and docstring of the async one."""
    signature = ast.unparse(member.args)
    returns = ast.unparse(member.returns) if member.returns is not None else "None"
    decorators = "".join(f"    @{ast.unparse(decorator)}\n" for decorator in member.decorator_list)
    passed = ", ".join(
        [argument.arg for argument in member.args.args[1:]]
        + [f"{argument.arg}={argument.arg}" for argument in member.args.kwonlyargs]
    )
    call = f"self._inner.{member.name}({passed})"
    if member.decorator_list:
        body = f"return self._inner.{member.name}"
    elif isinstance(member, ast.AsyncFunctionDef):
        body = f"return self._portal.call({call})"
        if returns == "None":
            body = f"self._portal.call({call})"
        if (owner, member.name) == ("Memory", "close"):
            body = _CLOSING.format(call=call)
    else:
        body = f"return {returns}(self._portal, {call})"
    docstring = ast.get_docstring(member, clean=False) or ""
    return f'{decorators}    def {member.name}({signature}) -> {returns}:\n        """{docstring}"""\n        {body}\n'


def tidied(text: str) -> str:
    """`text` without unused imports, sorted and formatted by the project's own ruff."""
    ruff = str(Path(sys.executable).parent / "ruff")
    name = ["--stdin-filename", str(TARGET)]
    for arguments in (["check", "--quiet", "--fix-only", "--select", "F401,I", *name, "-"], ["format", *name, "-"]):
        done = subprocess.run(
            [ruff, *arguments], input=text, capture_output=True, text=True, check=True, cwd=ROOT, encoding="utf-8"
        )
        text = done.stdout
    return text


if __name__ == "__main__":
    raise SystemExit(main())
