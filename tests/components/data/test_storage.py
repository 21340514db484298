"""The contract of a store, held by a local folder and by a real S3 server alike."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.data.storage import InvalidPath, NotFound, StorageError, Store, create_bucket, open_store

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def store(store_uri: str) -> Store:
    return open_store(store_uri)


def test_what_is_written_is_read_back(store: Store):
    data = np.random.default_rng(1).bytes(100_000)
    store.write("group/part-00000.parquet", data)
    assert store.read("group/part-00000.parquet") == data
    assert store.size("group/part-00000.parquet") == len(data)


def test_an_empty_object_is_an_object(store: Store):
    store.write("empty", b"")
    assert (store.read("empty"), store.size("empty")) == (b"", 0)


def test_a_write_of_many_parts_is_read_back_whole(store: Store):
    data = np.random.default_rng(2).bytes(40 * 1024**2 + 17)  # three parts on S3
    store.write("large", data)
    assert store.read("large") == data


def test_a_second_write_replaces_the_first(store: Store):
    store.write("a", b"long first version")
    store.write("a", b"second")
    assert store.read("a") == b"second"


def test_create_keeps_what_is_there(store: Store):
    assert store.create("receipt.json", b"first") is True
    assert store.create("receipt.json", b"second") is False
    assert store.read("receipt.json") == b"first"


def test_create_after_delete_wins_again(store: Store):
    store.create("receipt.json", b"first")
    store.delete("receipt.json")
    assert store.create("receipt.json", b"second") is True
    assert store.read("receipt.json") == b"second"


def test_eight_racing_threads_have_one_winner_whose_bytes_stay(store: Store):
    for turn in range(5):
        barrier = threading.Barrier(8)

        def race(writer: int, turn: int = turn, barrier: threading.Barrier = barrier) -> bool:
            barrier.wait()
            return store.create(f"race/{turn}", f"writer {writer}".encode())

        with ThreadPoolExecutor(8) as pool:
            won = list(pool.map(race, range(8)))
        assert sum(won) == 1
        assert store.read(f"race/{turn}") == f"writer {won.index(True)}".encode()


RACER = """
import sys
from components.data.storage import open_store
store = open_store(sys.argv[1])
print("ready", flush=True)
for turn, _ in enumerate(sys.stdin):
    print(store.create(f"race/{turn}", sys.argv[2].encode()), flush=True)
"""


def test_four_racing_processes_have_one_winner_whose_bytes_stay(store_uri: str):
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, store_uri, f"writer {number}"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        for number in range(4)
    ]
    store = open_store(store_uri)
    try:
        assert all(racer.stdout and racer.stdout.readline() == "ready\n" for racer in racers)
        for turn in range(15):
            for racer in racers:
                assert racer.stdin
                racer.stdin.write("go\n")
            won = [racer.stdout.readline() == "True\n" for racer in racers if racer.stdout]
            assert sum(won) == 1
            assert store.read(f"race/{turn}") == f"writer {won.index(True)}".encode()
    finally:
        for racer in racers:
            racer.communicate(timeout=30)


def test_size_is_none_and_read_is_not_found_where_nothing_is(store: Store):
    assert store.size("nothing/here") is None
    with pytest.raises(NotFound, match="nothing/here"):
        store.read("nothing/here")
    store.delete("nothing/here")


def test_list_gives_everything_below_a_folder_in_key_order(store: Store):
    keys = ["a.b", "a/b", "a/b.c/d", "a0/x", "b/z", "ab/é 1"]
    for size, key in enumerate(keys, 1):
        store.write(key, b"x" * size)
    assert [entry.path for entry in store.list()] == sorted(keys, key=str.encode)
    assert [(entry.path, entry.size) for entry in store.list("a")] == [("a/b", 2), ("a/b.c/d", 3)]
    assert [entry.path for entry in store.list("a/")] == ["a/b", "a/b.c/d"]
    assert list(store.list("nowhere")) == []
    age = datetime.now(UTC) - next(store.list("b")).modified
    assert timedelta(minutes=-1) < age < timedelta(minutes=5)


@pytest.mark.slow
def test_a_listing_longer_than_a_page_has_every_object_once(store: Store):
    keys = [
        f"many/{folder}/{number:05d}"
        for folder in ("a b", "a-1", "a.b", "a/c", "a0")
        for number in range(420)
    ]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: store.write(key, b""), keys))
    assert [entry.path for entry in store.list("many")] == keys


@pytest.mark.parametrize(
    "key",
    ["a b", "50%", "a%20b", "tab#1", "q?x=1&y", "plus+", "ünïcødé/狗", "~*'()", "-", "x:y@z", "[1]{2}", '"'],
)
def test_odd_names_mean_the_same_to_every_reader(store: Store, key: str):
    store.write(key, b"woof")
    assert store.create(key, b"meow") is False
    assert store.read(key) == b"woof"
    assert [entry.path for entry in store.list()] == [key]
    filesystem, root = store.filesystem()
    with filesystem.open_input_file(f"{root}/{key}") as file:
        assert file.read() == b"woof"
    store.delete(key)
    assert store.size(key) is None


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/etc/passwd",
        "../up",
        "a/../../up",
        "a/..",
        "./a",
        "a//b",
        "a/",
        "a\\b",
        "a\nb",
        "a\0b",
        ".dogflow-tmp-1/x",
        "\udce9",
    ],
)
def test_keys_that_leave_the_store_or_mean_nothing_are_refused_everywhere(store: Store, key: str):
    calls: list[Callable[[], object]] = [
        lambda: store.read(key),
        lambda: store.write(key, b""),
        lambda: store.create(key, b""),
        lambda: store.size(key),
        lambda: store.delete(key),
    ]
    for call in calls:
        with pytest.raises(InvalidPath):
            call()
    assert list(store.list()) == []


def test_columns_are_read_by_range(store: Store):
    table = pa.table(
        {"image_id": ["a", "b"], "image": pa.array([b"x" * 3_000_000, b"y" * 3_000_000], pa.large_binary())}
    )
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none", use_dictionary=False)
    store.write("images/part.parquet", sink.getvalue().to_pybytes())
    filesystem, root = store.filesystem()
    read = pq.read_table(f"{root}/images/part.parquet", columns=["image_id"], filesystem=filesystem)
    assert read.column_names == ["image_id"] and read["image_id"].to_pylist() == ["a", "b"]
    with filesystem.open_input_file(f"{root}/images/part.parquet") as file:
        assert file.read_at(100, 2_000_000) == b"x" * 100


KILLED_WRITER = """
import sys, threading, os, signal
from components.data.storage import open_store
store = open_store(sys.argv[1])
data = b"d" * int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
getattr(store, sys.argv[2])("victim", data)
print("done", flush=True)
"""


@pytest.mark.parametrize("verb", ["write", "create"])
@pytest.mark.parametrize("delay_s", [0.0, 0.01, 0.03, 0.06, 0.12])
def test_a_killed_writer_leaves_the_old_object_or_the_new_one(store_uri: str, verb: str, delay_s: float):
    store, size = open_store(store_uri), 30_000_000
    if verb == "write":
        store.write("victim", b"old")
    arguments = [sys.executable, "-c", KILLED_WRITER, store_uri, verb, str(size)]
    with subprocess.Popen(arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdin and writer.stdout
        assert writer.stdout.readline() == b"ready\n"
        timer = threading.Timer(delay_s, writer.kill)
        writer.stdin.write(b"\n")
        writer.stdin.flush()
        timer.start()
        writer.wait(60)
        timer.cancel()
    # A server that has all the bytes may finish the put after its client is dead, and after the next request.
    whole = b"d" * size
    listed = {entry.path: entry.size for entry in store.list()}
    if verb == "write":
        assert listed in ({"victim": 3}, {"victim": size})
        assert store.read("victim") in (b"old", whole)
        store.write("victim", b"goes on")
        assert store.read("victim") in (b"goes on", whole)
    else:
        assert listed in ({}, {"victim": size})
        created = store.create("victim", b"next")
        assert not (created and listed)
        assert store.read("victim") == (b"next" if created else whole)


def test_readers_never_see_half_a_write(store: Store):
    versions = [bytes([number]) * 2_000_000 for number in range(4)]
    store.write("a", versions[0])
    stop = threading.Event()

    def overwrite() -> None:
        for turn in range(12):
            store.write("a", versions[turn % 4])
        stop.set()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(overwrite)
        while not stop.is_set() and not writing.done():
            assert store.read("a") in versions
        writing.result()


def test_two_uris_of_one_place_see_the_same_objects(store_uri: str):
    open_store(store_uri + "/").write("sub/a", b"1")
    assert open_store(store_uri + "/sub").read("a") == b"1"
    assert open_store(store_uri + "/").uri == store_uri
    assert open_store(store_uri).locate("sub/a") == f"{store_uri}/sub/a"


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("gs://bucket/x", "unknown scheme 'gs'"),
        ("file://host/dir", "three slashes"),
        ("file:///a?b", "%3F"),
        ("s3://", "names no valid bucket"),
        ("s3://Bucket/x", "names no valid bucket"),
        ("s3://bucket/../x", '".."'),
        ("", "empty path"),
    ],
)
def test_a_uri_that_means_nothing_is_refused_with_what_to_write(uri: str, said: str):
    with pytest.raises(InvalidPath, match=said.replace("?", r"\?").replace(".", r"\.")):
        open_store(uri)


def test_file_uris_are_unquoted_and_plain_paths_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    open_store("my data").write("a", b"1")
    assert open_store(f"{tmp_path.as_uri()}/my%20data").read("a") == b"1"
    assert os.listdir(tmp_path) == ["my data"]  # noqa: PTH208


def test_opening_a_store_creates_nothing(tmp_path: Path):
    store = open_store((tmp_path / "new").as_uri())
    assert list(store.list()) == [] and store.size("a") is None
    create_bucket(store.uri)
    assert not (tmp_path / "new").exists()


def test_a_timeout_that_is_no_number_is_named(monkeypatch: pytest.MonkeyPatch, s3_env, tmp_path: Path):
    monkeypatch.setenv("DOGFLOW_STORE_TIMEOUT_S", "soon")
    with pytest.raises(StorageError, match="DOGFLOW_STORE_TIMEOUT_S='soon'"):
        open_store("s3://dogflow").size("a")
