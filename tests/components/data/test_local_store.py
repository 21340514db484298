"""What only a folder does: durability by rename, permissions, links, a full disk."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.data.local_store import LocalFolder
from components.data.storage import AccessDenied, DiskFull, NotFound, StorageError


@pytest.fixture
def folder(tmp_path: Path) -> LocalFolder:
    return LocalFolder(tmp_path / "data")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 4 MB."""
    point = tmp_path / "disk"
    point.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", point], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small disk can be mounted by root only")
    yield point
    subprocess.run(["umount", "-l", point], check=True)


def test_the_bytes_are_on_disk_before_the_name_is(folder: LocalFolder, monkeypatch: pytest.MonkeyPatch):
    synced: list[tuple[int, bool]] = []
    real = os.fsync

    def watch(descriptor: int) -> None:
        synced.append((os.fstat(descriptor).st_size, (folder.root / "a").exists()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    folder.write("a", b"x" * 1000)
    assert synced[0] == (1000, False)  # the file, before the rename
    assert synced[1][1] is True  # the folder, after it


@pytest.mark.parametrize("verb", ["write", "create"])
def test_a_full_disk_is_named_and_leaves_nothing_behind(small_disk: Path, verb: str):
    store = LocalFolder(small_disk)
    store.write("kept", b"k" * 1_000_000)
    with pytest.raises(DiskFull, match=r"disk is full.*too-large"):
        getattr(store, verb)("too-large", b"x" * 8_000_000)
    assert [entry.path for entry in store.list()] == ["kept"]
    assert os.listdir(small_disk) == ["kept"]  # noqa: PTH208
    getattr(store, verb)("fits", b"x" * 1_000_000)
    assert store.read("kept") == b"k" * 1_000_000


def test_what_a_killed_writer_left_is_hidden_and_swept(folder: LocalFolder):
    folder.write("sub/a", b"1")
    (folder.root / "sub" / ".dogflow-tmp-0123").write_bytes(b"half")
    assert [entry.path for entry in folder.list()] == ["sub/a"]
    assert folder.sweep(older_than_s=3600) == 0
    assert folder.sweep(older_than_s=-1) == 4
    assert [file.name for file in (folder.root / "sub").iterdir()] == ["a"]


@pytest.fixture
def ordinary_user() -> Iterator[None]:
    """File permissions apply to this test even when root runs it."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    yield
    os.seteuid(before)


def test_a_forbidden_folder_is_access_denied_with_its_uri(
    folder: LocalFolder, request: pytest.FixtureRequest
):
    folder.write("a", b"1")
    folder.root.chmod(0o000)
    request.getfixturevalue("ordinary_user")
    for call in (
        lambda: folder.read("a"),
        lambda: folder.write("a", b"2"),
        lambda: folder.create("b", b""),
        lambda: folder.size("a"),
        lambda: folder.delete("a"),
        lambda: list(folder.list()),
    ):
        with pytest.raises(AccessDenied, match=f"{folder.uri}.*check its owner and mode"):
            call()


def test_links_are_followed_but_not_in_circles(folder: LocalFolder, tmp_path: Path):
    folder.write("real/a", b"1")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "b").write_bytes(b"22")
    (folder.root / "linked").symlink_to(tmp_path / "elsewhere")
    (folder.root / "real" / "circle").symlink_to(folder.root)
    (folder.root / "broken").symlink_to(tmp_path / "nowhere")
    assert [entry.path for entry in folder.list()] == ["linked/b", "real/a"]


@pytest.mark.parametrize(
    ("key", "said"), [("dir", "is a folder"), ("file/x", "a part of its path is a file")]
)
def test_folders_and_files_in_the_way_are_named(folder: LocalFolder, key: str, said: str):
    folder.write("dir/x", b"")
    folder.write("file", b"")
    with pytest.raises(NotFound, match=said):
        folder.read(key)
    with pytest.raises(NotFound, match=said):
        folder.write(key, b"1")
    assert folder.size(key) is None


def test_a_file_system_without_hard_links_is_an_error_not_two_winners(
    folder: LocalFolder, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")  # what exFAT and some FUSE mounts answer

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(StorageError, match="has no hard links") as raised:
        folder.create("a", b"1")
    assert not isinstance(raised.value, AccessDenied)
    assert list(folder.list()) == [] and list(folder.root.iterdir()) == []
