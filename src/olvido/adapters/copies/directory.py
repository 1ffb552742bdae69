"""A directory of files that host code writes, such as exports or attachments: found, removed and looked at by path."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from olvido.domain.erasure import Target
from olvido.domain.identifiers import required_identifier
from olvido.domain.path_template import Name, PathTemplate
from olvido.errors import CopyProblem, CopyUnavailable, InvalidInput

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Answer = TypeVar("Answer")


class DirectoryFiles:
    """A connector for the files of a person below one directory.

    Every directory on the way is opened inside the one before it and never through a link, so nothing outside the root
    is ever looked at or removed, whatever somebody puts there meanwhile. Files are removed, not overwritten.
    """

    by_record = False

    def __init__(self, root: str | Path, template: str) -> None:
        """root: a directory that exists when it is used. template: such as "{tenant}/{subject}", a file or a directory.

        See `olvido.domain.path_template` for templates; `path` makes the paths. Raises InvalidInput.
        """
        self._root = Path(root)
        try:
            self._template = PathTemplate.parse(template)
        except ValueError as error:
            raise InvalidInput(f"template: {error}.") from None

    def __repr__(self) -> str:
        return "DirectoryFiles()"

    def path(self, tenant: str, subject: str, name: str = "") -> Path:
        """Where to write a file of this person. name: what `*` of the template stands for. Raises InvalidInput."""
        required_identifier(tenant, "tenant")
        required_identifier(subject, "subject")
        try:
            return self._root / self._template.path(tenant, subject, name)
        except ValueError as error:
            raise InvalidInput(f"name: {error}.") from None

    async def find(self, target: Target) -> int:
        """How many files and directories there are of this person. Raises CopyUnavailable."""
        return await _in_thread(lambda: self._walk(target, remove=False))

    async def erase(self, target: Target) -> None:
        """Remove them, and make that durable before returning."""
        await _in_thread(lambda: self._walk(target, remove=True))

    async def verify(self, target: Target) -> int | None:
        """List the directories anew: how many are there."""
        return await _in_thread(lambda: self._walk(target, remove=False))

    def _walk(self, target: Target, *, remove: bool) -> int:
        names = self._template.names(target.tenant, target.subject)
        # The root itself may be a link: whoever configured it chose it.
        root = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return self._matches(root, names, 0, remove=remove)
        finally:
            os.close(root)

    def _matches(self, directory: int, names: tuple[Name, ...], number: int, *, remove: bool) -> int:
        """Things below an open directory that match the names from `number` on; removed, where that is asked for."""
        count = 0
        for name in list(_named(directory, names[number])):
            if number == len(names) - 1:
                count += _tree(directory, name, remove=remove)
                continue
            with _opened(directory, name) as below:
                count += self._matches(below, names, number + 1, remove=remove)
            if number >= self._template.personal_from:
                # Its name is that of the person, so it counts and goes as well, once nothing else is in it.
                count += 1
                if remove:
                    with suppress(OSError):
                        os.rmdir(name, dir_fd=directory)
        if remove:
            os.fsync(directory)
        return count


def _named(directory: int, name: Name) -> Iterator[str]:
    """The entries of an open directory that are called so."""
    if isinstance(name, str):
        with suppress(FileNotFoundError):
            os.stat(name, dir_fd=directory, follow_symlinks=False)
            yield name
        return
    with os.scandir(directory) as entries:
        yield from (entry.name for entry in entries if name.fullmatch(entry.name))


@contextmanager
def _opened(directory: int, name: str) -> Iterator[int]:
    """A directory inside an open one. Raises CopyUnavailable if it is a link or a file: who knows what is behind it."""
    try:
        below = os.open(name, _DIRECTORY, dir_fd=directory)
    except OSError as error:
        if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
            raise
        raise CopyUnavailable(
            "A part of the path is a link or a file. Look at it by hand.", problem=CopyProblem.UNSAFE
        ) from None
    try:
        yield below
    finally:
        os.close(below)


def _tree(directory: int, name: str, *, remove: bool) -> int:
    """A file, or a directory with all that is in it; links are counted and removed as what they are."""
    try:
        is_directory = stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return 0
    count = 1
    if is_directory:
        with _opened(directory, name) as below:
            with os.scandir(below) as entries:
                inside = [entry.name for entry in entries]
            count += sum(_tree(below, one, remove=remove) for one in inside)
            if remove:
                os.fsync(below)
    if remove:
        with suppress(FileNotFoundError):
            if is_directory:
                os.rmdir(name, dir_fd=directory)
            else:
                os.unlink(name, dir_fd=directory)
    return count


async def _in_thread(work: Callable[[], Answer]) -> Answer:
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        # Its message has the path, and with it the person.
        raise CopyUnavailable(
            f"The files could not be reached ({type(error).__name__}).", problem=CopyProblem.UNREACHABLE
        ) from None
