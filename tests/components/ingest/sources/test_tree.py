"""Walking and reading a folder: order, links, odd names, limits."""

import os
import tempfile
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.ingest.sources.record import SourceError
from components.ingest.sources.tree import LocalTree, extension, open_tree, read_in_order


def touch(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())


@given(
    st.sets(
        st.lists(st.sampled_from(["a", "a.", "a-", "b", "é", "犬", "a0"]), min_size=1, max_size=3).map(tuple)
    )
)
def test_the_walk_is_in_the_order_of_whole_relpaths(paths: set[tuple[str, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        names = sorted("/".join(f"{part}d" for part in path[:-1]) + f"/{path[-1]}.f" for path in paths)
        touch(Path(folder), *[name.lstrip("/") for name in names])
        assert [e.relpath for e in LocalTree(Path(folder)).walk()] == sorted(n.lstrip("/") for n in names)


def test_links_are_followed_and_loops_broken_links_and_pipes_are_told(tmp_path: Path) -> None:
    touch(tmp_path / "elsewhere", "dog.jpg")
    root = tmp_path / "root"
    touch(root, "a.jpg", "sub/b.jpg")
    (root / "folder").symlink_to(tmp_path / "elsewhere")
    (root / "file.jpg").symlink_to(root / "a.jpg")
    (root / "sub/up").symlink_to(root)
    (root / "broken.jpg").symlink_to(root / "none.jpg")
    (root / "ring1").symlink_to(root / "ring2")
    (root / "ring2").symlink_to(root / "ring1")
    os.mkfifo(root / "pipe.jpg")
    tree = LocalTree(root)
    faults = {entry.relpath: entry.fault for entry in tree.walk()}
    assert faults == {
        "a.jpg": "",
        "broken.jpg": "is a link to nothing",
        "file.jpg": "",
        "folder/dog.jpg": "",
        "pipe.jpg": "is not a regular file",
        "ring1": "is a link to nothing",
        "ring2": "is a link to nothing",
        "sub/b.jpg": "",
        "sub/up": "is a link to a folder that contains it",
    }
    assert tree.read("folder/dog.jpg") == b"dog.jpg"
    with pytest.raises(SourceError, match="not a regular file"):
        tree.read("pipe.jpg")


def test_names_that_are_not_utf8_are_shown_escaped_and_can_be_read(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.jpg")).write_bytes(b"odd")
    touch(tmp_path, "plain\\xe9.jpg")
    tree = LocalTree(tmp_path)
    assert [entry.relpath for entry in tree.walk()] == ["caf\\xe9.jpg", "plain\\xe9.jpg"]
    assert tree.read("caf\\xe9.jpg") == b"odd"
    assert tree.read("plain\\xe9.jpg") == b"plain\\xe9.jpg"


@pytest.mark.parametrize("name", ["../secret", "a/../../secret", "/etc/hostname", "", "a\0b"])
def test_a_path_outside_the_root_is_refused(tmp_path: Path, name: str) -> None:
    touch(tmp_path, "secret", "root/a/b")
    with pytest.raises(SourceError, match="no path inside"):
        LocalTree(tmp_path / "root").read(name)


def test_a_file_over_the_limit_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "huge.jpg").open("wb") as file:
        file.truncate(2**40)  # sparse: a terabyte that would have to be allocated
    with pytest.raises(SourceError, match=r"huge.jpg has 1099511627776 bytes"):
        LocalTree(tmp_path).read("huge.jpg")


def test_missing_places_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="There is no folder or file"):
        open_tree(str(tmp_path / "none"))
    with pytest.raises(SourceError, match="unknown scheme 'gs'"):
        open_tree("gs://bucket/dogs")
    with pytest.raises(SourceError, match=r"There is no file none.jpg"):
        LocalTree(tmp_path).read("none.jpg")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.JPG", ".jpg"),
        ("a.tar.gz", ".gz"),
        ("README", "(none)"),
        (".git/x.jpg", "(hidden)"),
        ("a/._b.jpg", "(hidden)"),
    ],
)
def test_extensions(name: str, kind: str) -> None:
    assert extension(name) == kind


def test_parallel_reads_keep_their_order() -> None:
    def read(key: int) -> bytes:
        time.sleep(0.002 if key % 3 == 0 else 0)
        return str(key).encode()

    keys = list(range(60))
    assert list(read_in_order(read, keys, parallel=True)) == [str(key).encode() for key in keys]


def test_listing_20000_files_takes_seconds_and_little_memory(tmp_path: Path) -> None:
    for folder in range(20):
        (tmp_path / f"{folder:02d}").mkdir()
        for number in range(1000):
            os.close(os.open(tmp_path / f"{folder:02d}/{number:04d}.jpg", os.O_CREAT))
    start = time.process_time()
    assert sum(1 for _ in LocalTree(tmp_path).walk()) == 20_000
    assert time.process_time() - start < 5
    tracemalloc.start()
    count = sum(1 for _ in LocalTree(tmp_path).walk())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_000
    assert peak < 2 * 2**20  # the names of one directory, not of all
