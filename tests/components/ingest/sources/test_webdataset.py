"""Tars: samples by key, img2dataset's sidecars, and archives that lie."""

import gzip
import io
import json
import tarfile
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.ingest.sources import archive as archive_module
from components.ingest.sources.record import SourceError, SourceItem, open_source
from components.ingest.sources.webdataset import sample_key, split_tar

Members = list[tuple[str, bytes]]


def tar_bytes(members: Members, mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def read_all(root: Path, **options: object) -> tuple[list[SourceItem], list[bytes | SourceError]]:
    source = open_source(str(root), **options)
    items = list(source.items())
    assert len({item.relpath for item in items}) == len(items)
    return items, list(source.read(items))


def test_samples_of_several_tars_in_member_order(tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_bytes(tar_bytes([("9.jpg", b"nine"), ("9.txt", b"dog 9"), ("1.png", b"one")]))
    (tmp_path / "a.tar.gz").write_bytes(
        tar_bytes(
            [
                ("x/0.json", json.dumps({"caption": "from json", "license": "CC0"}).encode()),
                ("x/0.cls", b"pug"),
                ("x/0.jpg", b"zero"),
                ("x/0.txt", b" from txt \n"),
                ("x/0.mask.png", b"mask"),
                ("x/1.jpg", b"bare"),
                ("x/2.txt", b"no picture"),
            ],
            "w:gz",
        )
    )
    (tmp_path / "notes.md").write_text("x")
    source = open_source(str(tmp_path), source="s")
    items = list(source.items())
    assert items == [
        SourceItem("a.tar.gz/x/0.jpg", "from txt", "pug", "s", "CC0"),
        SourceItem("a.tar.gz/x/1.jpg", "", "x", "s"),
        SourceItem("b.tar/9.jpg", "dog 9", "", "s"),
        SourceItem("b.tar/1.png", "", "", "s"),
    ]
    assert list(source.read(items)) == [b"zero", b"bare", b"nine", b"one"]
    assert list(source.read(items[::-1])) == [b"one", b"nine", b"bare", b"zero"]
    assert source.sidecars == {".json": 1, ".cls": 1, ".txt": 2}
    assert source.ignored == {".png": 1, ".txt": 1, ".md": 1}
    assert list(source.items()) == items


def test_img2dataset_failures_and_captions_come_from_the_parquet(tmp_path: Path) -> None:
    keys = ["000000000", "000000001", "000000002", "000000003"]
    members: Members = [
        (f"{keys[0]}.jpg", b"A"),
        (f"{keys[0]}.json", b'{"caption": "json"}'),
        (f"{keys[3]}.jpg", b"D"),
    ]
    (tmp_path / "00000.tar").write_bytes(tar_bytes(members))
    table = pa.table(
        {
            "key": keys,
            "caption": ["parquet 0", "parquet 1", "parquet 2", "parquet 3"],
            "url": ["u"] * 4,
            "status": ["success", "failed_to_download", "success", "success"],
            "error_message": [None, "HTTP Error 404: Not Found", None, None],
        }
    )
    pq.write_table(table, tmp_path / "00000.parquet")
    (tmp_path / "00000_stats.json").write_text("{}")
    source = open_source(str(tmp_path), source="s")
    items = list(source.items())
    assert [(item.relpath, item.caption, item.problem) for item in items] == [
        ("00000.tar/000000000.jpg", "json", ""),
        ("00000.tar/000000003.jpg", "parquet 3", ""),
        (
            "00000.parquet#000000001",
            "parquet 1",
            "img2dataset: failed_to_download, HTTP Error 404: Not Found",
        ),
        (
            "00000.parquet#000000002",
            "parquet 2",
            "000000002 is a success in 00000.parquet but is not in 00000.tar",
        ),
    ]
    assert source.sidecars == {".parquet": 1, ".json": 2} and not source.ignored
    data = list(source.read(items))
    assert data[:2] == [b"A", b"D"] and [str(error) for error in data[2:]] == [
        item.problem for item in items[2:]
    ]


def hostile_tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind, target in [
            ("good1.jpg", tarfile.REGTYPE, ""),
            ("/etc/passwd.jpg", tarfile.REGTYPE, ""),
            ("a/../../up.jpg", tarfile.REGTYPE, ""),
            ("C:\\evil.jpg", tarfile.REGTYPE, ""),
            ("soft.jpg", tarfile.SYMTYPE, "/etc/passwd"),
            ("hard.jpg", tarfile.LNKTYPE, "good1.jpg"),
            ("null.jpg", tarfile.CHRTYPE, ""),
            ("pipe.jpg", tarfile.FIFOTYPE, ""),
            ("folder", tarfile.DIRTYPE, ""),
            ("good1.jpg", tarfile.REGTYPE, ""),
            ("good2.jpg", tarfile.REGTYPE, ""),
        ]:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            content = name.encode() if kind == tarfile.REGTYPE else b""
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def test_hostile_members_are_problems_and_the_good_ones_are_kept(tmp_path: Path) -> None:
    (tmp_path / "h.tar").write_bytes(hostile_tar())
    items, data = read_all(tmp_path)
    told = {item.relpath: item.problem for item in items}
    assert [relpath for relpath, problem in told.items() if not problem] == [
        "h.tar/good1.jpg",
        "h.tar/good2.jpg",
    ]
    assert "absolute path" in told["h.tar/#2"]
    assert "leaves the source" in told["h.tar/#3"]
    assert "absolute path" in told["h.tar/#4"]
    assert "is a link" in told["h.tar/soft.jpg"] and "is a link" in told["h.tar/hard.jpg"]
    assert "device or pipe" in told["h.tar/null.jpg"] and "device or pipe" in told["h.tar/pipe.jpg"]
    assert [problem for problem in told.values() if "appears again" in problem]
    assert [found for found in data if isinstance(found, bytes)] == [b"good1.jpg", b"good2.jpg"]
    assert not list(tmp_path.glob("**/up.jpg"))


@pytest.mark.parametrize("cut", [1, 511, 512, 700, 1024, 1400, 2048, 3000])
@pytest.mark.parametrize("packed", [False, True])
def test_a_truncated_tar_keeps_what_is_whole(tmp_path: Path, cut: int, packed: bool) -> None:
    noise = [bytes((i * 7 + n) % 251 for i in range(600)) for n in range(3)]
    members = [(f"{n}.jpg", noise[n]) for n in range(3)]
    whole = tar_bytes(members)
    if packed:
        data = gzip.compress(whole, mtime=0)
        data = data[: max(1, min(cut, len(data) - 1))]
        name = "t.tar.gz"
    else:
        data, name = whole[:cut], "t.tar"
    (tmp_path / name).write_bytes(data)
    items, found = read_all(tmp_path)
    good = [value for value in found if isinstance(value, bytes)]
    assert good == noise[: len(good)]
    if not packed:
        assert len(good) == sum(1536 * n + 512 + 600 <= cut for n in range(3))
        # Cut exactly between two members a tar looks complete: only a sidecar could tell.
    assert any(item.problem for item in items) or cut % 1536 == 0


def test_a_file_that_is_no_tar_is_one_problem(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(b"<html>not found</html>" * 100)
    (tmp_path / "b.tar").write_bytes(tar_bytes([("1.jpg", b"x")]))
    (tmp_path / "c.tar").write_bytes(b"")
    (tmp_path / "d.tar.gz").write_bytes(b"\x1f\x8bgarbage")
    items, data = read_all(tmp_path)
    assert [item.relpath for item in items] == ["a.tar", "b.tar/1.jpg", "c.tar", "d.tar.gz"]
    assert "a.tar is no tar archive" in items[0].problem and "c.tar is no tar archive" in items[2].problem
    assert "damaged" in items[3].problem
    assert data[1] == b"x" and [type(value) for value in data].count(SourceError) == 3


def raw_header(name: bytes, size: bytes, kind: bytes = b"0") -> bytes:
    header = bytearray(512)
    header[0 : len(name)] = name
    header[100:108], header[108:116], header[116:124] = b"0000644\0", b"0000000\0", b"0000000\0"
    header[124:136], header[136:148] = size, b"00000000000\0"
    header[156:157], header[257:265] = kind, b"ustar  \0"
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    return bytes(header)


def base256(number: int) -> bytes:
    return (
        (number & ((1 << 95) - 1) | 1 << 95).to_bytes(12, "big")
        if number >= 0
        else b"\xff" * 4 + (number & (1 << 64) - 1).to_bytes(8, "big")
    )


def test_members_with_impossible_sizes_end_in_a_problem_and_not_in_memory_or_a_loop(tmp_path: Path) -> None:
    good = tar_bytes([("good.jpg", b"ok")])[:1024]
    bombs = {
        "huge.tar": raw_header(b"huge.jpg", base256(2**60)),
        "negative.tar": raw_header(b"back.jpg", base256(-1024)),
        "longname.tar": raw_header(b"././@LongLink", base256(2**40), b"L"),
        "pax.tar": raw_header(b"pax", base256(2**40), b"x"),
        "negative_pax.tar": raw_header(b"pax", base256(-512), b"x"),
    }
    for name, header in bombs.items():
        (tmp_path / name).write_bytes(good + header + b"\0" * 1024)
    items, data = read_all(tmp_path)
    by_tar = {name: [item for item in items if item.relpath.startswith(name)] for name in bombs}
    for name, found in by_tar.items():
        assert found[0].relpath == f"{name}/good.jpg" and not found[0].problem
        assert found[1:] and all(item.problem for item in found[1:]), name
    assert "has 1152921504606846976 bytes" in by_tar["huge.tar"][1].problem
    assert [value for value in data if isinstance(value, bytes)] == [b"ok"] * len(bombs)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5119), st.integers(0, 255)), min_size=1, max_size=12), st.booleans())
def test_a_tar_with_any_bytes_changed_is_items_and_problems_and_never_a_crash(
    changes: list[tuple[int, int]], packed: bool
) -> None:
    data = bytearray(tar_bytes([(f"{n}.jpg", bytes([n]) * 700) for n in range(3)]))
    if packed:
        data = bytearray(gzip.compress(bytes(data), mtime=0))
    for at, value in changes:
        data[at % len(data)] = value
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "t.tar").write_bytes(data)
        items, found = read_all(Path(folder))
    assert len(items) == len(found) >= 1
    assert all(isinstance(value, bytes) or item.problem for item, value in zip(items, found, strict=True))


def test_a_gzip_bomb_stops_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_module, "FREE_BYTES", 2**20)
    monkeypatch.setattr(archive_module, "MAX_RATIO", 10)
    (tmp_path / "bomb.tar.gz").write_bytes(
        gzip.compress(tar_bytes([("good.jpg", b"ok"), ("zeros.jpg", bytes(30 * 2**20))]))
    )
    items, data = read_all(tmp_path)
    assert not items[0].problem and data[0] == b"ok"
    assert "unpacks to more than 1048576 bytes" in items[-1].problem


def test_bad_texts_are_problems_of_their_sample_only(tmp_path: Path) -> None:
    members: Members = [
        ("1.jpg", b"A"),
        ("1.json", b"{broken"),
        ("2.jpg", b"B"),
        ("2.txt", b"caf\xe9"),
        ("3.jpg", b"C"),
    ]
    (tmp_path / "t.tar").write_bytes(tar_bytes(members))
    items, data = read_all(tmp_path)
    assert "1.json is no JSON" in items[0].problem
    assert "not valid UTF-8 (byte 0xe9)" in items[1].problem and items[1].caption == "caf\ufffd"
    assert items[2].problem == "" and data == [b"A", b"B", b"C"]


@pytest.mark.parametrize(
    ("name", "key"),
    [("a/b.seg.png", "a/b"), ("b.jpg", "b"), ("a.b/c.d.e", "a.b/c"), ("noext", "noext")],
)
def test_the_key_ends_at_the_first_dot_of_the_last_segment(name: str, key: str) -> None:
    assert sample_key(name) == key


def test_archive_and_member_are_split_at_the_first_tar() -> None:
    assert split_tar("x/a.tar/b.tar/1.jpg") == ("x/a.tar", "b.tar/1.jpg")
    assert split_tar("a.tgz/1.jpg") == ("a.tgz", "1.jpg")
    assert split_tar("a.tar") == ("a.tar", "")


def test_a_single_tar_can_be_the_source(tmp_path: Path) -> None:
    (tmp_path / "dogs.tar").write_bytes(tar_bytes([("1.jpg", b"x")]))
    (tmp_path / "other.tar").write_bytes(tar_bytes([("2.jpg", b"y")]))
    items, data = read_all(tmp_path / "dogs.tar")
    assert items == [SourceItem("dogs.tar/1.jpg", source="dogs")] and data == [b"x"]
