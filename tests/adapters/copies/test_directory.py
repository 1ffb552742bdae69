"""The connector for directories of files: the files of one person and nothing else, whatever lies beside them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from olvido.connectors import CopyProblem, CopyUnavailable, DirectoryFiles
from olvido.errors import InvalidInput, InvalidScope
from tests.adapters.copies.support import target

PEOPLE = [("acme", "ana"), ("acme", "Ana"), ("acme", "ana.1"), ("acme", "ana-1"), ("globex", "ana"), ("acme", "..")]


def write(path: Path, text: str = "text") -> None:
    """A file with the directories that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def listed(root: Path) -> set[str]:
    """Everything below a directory."""
    return {str(path.relative_to(root)) for path in root.rglob("*")}


@pytest.mark.parametrize(
    "template, name",
    [
        ("{tenant}/{subject}", ""),
        ("{tenant}.{subject}.json", ""),
        ("{tenant}/exports/{subject}.*.json", "2026"),
        ("{tenant}/{subject}/*.txt", "notes"),
        ("{subject}/{tenant}/file", ""),
    ],
)
async def test_only_the_files_of_one_person_go(tmp_path: Path, template: str, name: str) -> None:
    """Ids that look alike, lead out, or are of another company keep theirs."""
    files = DirectoryFiles(tmp_path, template)
    for tenant, subject in PEOPLE:
        write(files.path(tenant, subject, name))
    for tenant, subject in PEOPLE:
        others = {files.path(*person, name) for person in PEOPLE if person != (tenant, subject)}
        about = target(subject, tenant)
        assert await files.find(about) > 0
        await files.erase(about)
        assert await files.verify(about) == 0
        assert not files.path(tenant, subject, name).exists()
        assert all(path.read_text() == "text" for path in others)
        write(files.path(tenant, subject, name))


async def test_a_directory_of_a_person_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    """Files, directories and hidden files are counted and removed, and the directory with the person's name too."""
    files = DirectoryFiles(tmp_path, "{tenant}/{subject}")
    home = files.path("acme", "ana")
    for name in ("a", ".hidden", "deep/er/b", "deep/c"):
        write(home / name)
    assert await files.find(target()) == 1 + 4 + 2
    await files.erase(target())
    assert (await files.verify(target()), listed(tmp_path)) == (0, {"acme"})
    await files.erase(target())


async def test_what_is_left_in_a_directory_with_the_name_of_the_person_is_told(tmp_path: Path) -> None:
    """The template does not name it, so it is not removed, and the name of the directory still says who it was."""
    files = DirectoryFiles(tmp_path, "{tenant}/{subject}/*.json")
    home = files.path("acme", "ana", "x").parent
    write(home / "x.json")
    write(home / "notes.txt")
    await files.erase(target())
    assert (await files.verify(target()), listed(home)) == (1, {"notes.txt"})
    (home / "notes.txt").unlink()
    await files.erase(target())
    assert (await files.verify(target()), home.exists()) == (0, False)


async def test_links_are_removed_and_never_followed(tmp_path: Path) -> None:
    """What a link points to stays as it is, in whatever place the link is."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    write(outside / "precious", "stays")
    files = DirectoryFiles(root, "{tenant}/{subject}")
    home = files.path("acme", "ana")
    write(home / "a")
    (home / "link").symlink_to(outside)
    await files.erase(target())
    home.symlink_to(outside)
    await files.erase(target())
    assert (await files.verify(target()), home.is_symlink()) == (0, False)
    assert listed(outside) == {"precious"}


async def test_a_link_on_the_way_is_refused(tmp_path: Path) -> None:
    """Nobody knows whose files are behind it, so it is neither gone through nor counted as nothing."""
    outside = tmp_path / "outside"
    write(outside / "ana", "stays")
    root = tmp_path / "root"
    root.mkdir()
    (root / "acme").symlink_to(outside)
    files = DirectoryFiles(root, "{tenant}/{subject}")
    for ask in (files.find, files.erase, files.verify):
        with pytest.raises(CopyUnavailable) as refused:
            await ask(target())
        assert refused.value.problem is CopyProblem.UNSAFE
    assert listed(outside) == {"ana"}


async def test_a_directory_that_is_not_there_is_no_empty_one(tmp_path: Path) -> None:
    """A disk that is not mounted proves nothing about the files on it; and its path is not in the error."""
    files = DirectoryFiles(tmp_path / "not-mounted", "{tenant}/{subject}")
    with pytest.raises(CopyUnavailable) as refused:
        await files.verify(target())
    assert refused.value.problem is CopyProblem.UNREACHABLE
    assert "not-mounted" not in f"{refused.value}{files!r}"


async def test_the_removal_is_durable_before_it_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every directory that lost an entry is synced: a power cut does not bring a file back."""
    files = DirectoryFiles(tmp_path, "{tenant}/{subject}")
    write(files.path("acme", "ana") / "deep" / "a")
    names = {(tmp_path / name).stat().st_ino: name for name in {*listed(tmp_path), "."}}
    synced: list[str] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(names[os.fstat(descriptor).st_ino])
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    await files.find(target())
    assert synced == []
    await files.erase(target())
    assert synced == ["acme/ana/deep", "acme/ana", "acme", "."]


async def test_what_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the file system is no success, and what is left is found."""
    files = DirectoryFiles(tmp_path, "{tenant}/{subject}")
    write(files.path("acme", "ana"))

    def refused(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "unlink", refused)
    with pytest.raises(CopyUnavailable):
        await files.erase(target())
    assert await files.verify(target()) == 1


def test_a_path_is_made_of_checked_ids(tmp_path: Path) -> None:
    """Where host code writes is where a forget looks."""
    files = DirectoryFiles(tmp_path, "{tenant}/{subject}.*")
    assert files.path("acme", "ana@example.com", "x") == tmp_path / "acme" / "ana%40example%2ecom.x"
    with pytest.raises(InvalidScope):
        files.path("acme", " ")
    with pytest.raises(InvalidInput, match="no dot"):
        files.path("acme", "ana", "../bo")
    with pytest.raises(InvalidInput, match="template"):
        DirectoryFiles(tmp_path, "{subject}")
