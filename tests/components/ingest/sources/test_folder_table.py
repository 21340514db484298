"""Image folders with a table: each row and each file is exactly one item."""

import json
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from components.ingest.sources.record import SourceError, SourceItem, open_source


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def items_of(root: Path, **options: object) -> list[SourceItem]:
    return list(open_source(str(root), **options).items())


def test_every_column_arrives_and_every_file_is_counted_once(tmp_path: Path) -> None:
    root = write(
        tmp_path / "dogs",
        {
            "images/a.jpg": b"A",
            "images/b.png": b"B",
            "images/no_row.webp": b"C",
            "images/.hidden.jpg": b"D",
            "masks/a.png": b"E",
            "notes.md": "x",
            "captions.csv": (
                "\ufefffile,caption,breed,source,license,reviewed,clip\r\n"
                'images/b.png,"two\r\nlines",Beagle,flickr,CC BY 2.0,yes,clip7\r\n'
                "images/a.jpg,a dog,,,,,\r\n"
            ),
        },
    )
    source = open_source(str(root), license="CC0", source="kennel")
    items = list(source.items())
    assert items == [
        SourceItem("images/a.jpg", caption="a dog", source="kennel", license="CC0"),
        SourceItem("images/b.png", "two\r\nlines", "Beagle", "flickr", "CC BY 2.0", True, "clip7"),
        SourceItem("images/no_row.webp", source="kennel", license="CC0"),
    ]
    assert list(source.read(items)) == [b"A", b"B", b"C"]
    assert source.ignored == {"(hidden)": 1, "(annotation) .png": 1, ".md": 1}
    assert source.sidecars == {".csv": 1}
    assert list(source.items()) == items


def test_bad_rows_are_problem_items_beside_the_good_ones(tmp_path: Path) -> None:
    table = (
        b"file,caption,reviewed\n"
        b"a.jpg,good,\n"
        b"missing.jpg,gone,\n"
        b"../secret.jpg,trick,\n"
        b"/etc/passwd,trick,\n"
        b"a.jpg,again,\n"
        b"b.jpg,caf\xe9,\n"
        b"c.jpg,fine,perhaps\n"
        b"d.jpg,one,two,three\n"
        b"notes.txt,a text,\n"
    )
    root = write(
        tmp_path / "dogs",
        {"t.csv": table, **{f"{n}.jpg": n for n in "abcd"}, "notes.txt": "no picture", "../secret.jpg": "s"},
    )
    source = open_source(str(root))
    items = {item.relpath: item for item in source.items()}
    problems = {relpath: item.problem for relpath, item in items.items()}
    assert problems == {
        "a.jpg": "",
        "a.jpg#line=6": "line 6 of t.csv names a.jpg again, after line 2 of t.csv",
        "b.jpg": "line 7 of t.csv: caption is not valid UTF-8 (byte 0xe9); "
        "save the table as UTF-8 or give its encoding",
        "c.jpg": "reviewed is 'perhaps'; write true or false",
        "d.jpg": "line 9 of t.csv: has 4 fields where the header has 3; "
        "put quotes around a field that holds ','",
        "missing.jpg": "line 3 of t.csv names missing.jpg, which is not in the source",
        "notes.txt": "",
        "t.csv#line=4": "line 4 of t.csv: the file name '../secret.jpg' leaves the source with \"..\"; "
        "write it relative to the source",
        "t.csv#line=5": "line 5 of t.csv: the file name '/etc/passwd' is an absolute path; "
        "write it relative to the source",
    }
    assert items["b.jpg"].caption == "caf\ufffd" and items["missing.jpg"].caption == "gone"
    data = dict(zip(items, source.read(list(items.values())), strict=True))
    readable = sorted(name for name, found in data.items() if isinstance(found, bytes))
    assert readable == ["a.jpg", "b.jpg", "c.jpg", "d.jpg", "notes.txt"]
    assert str(data["missing.jpg"]) == problems["missing.jpg"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
def test_the_same_rows_come_from_each_form(tmp_path: Path, form: str, line_end: str) -> None:
    rows = [{"file_name": "b.jpg", "text": "a, b"}, {"file_name": "a.jpg", "text": "c"}]
    if form == "jsonl":
        table = line_end.join(map(json.dumps, rows))
    else:
        mark, quote = (",", '"') if form == "csv" else ("\t", "")
        lines = [f"{row['file_name']}{mark}{quote}{row['text']}{quote}" for row in rows]
        table = line_end.join([f"file_name{mark}text", *lines])
    root = write(tmp_path, {f"metadata.{form}": table, "a.jpg": "1", "b.jpg": "2"})
    assert [(item.relpath, item.caption) for item in items_of(root)] == [("a.jpg", "c"), ("b.jpg", "a, b")]


@pytest.mark.parametrize(
    ("table", "file", "named"),
    [
        ("captions.csv", "images/a.jpg", "a.jpg"),
        ("meta/captions.csv", "photos/a.jpg", "photos/a.jpg"),
        ("train/metadata.csv", "train/a.jpg", "a.jpg"),
        ("labels.csv", "train/0a1b.jpg", "0a1b"),
        ("captions.csv", "images/sub/a.jpg", "images\\sub\\a.jpg"),
    ],
)
def test_file_names_are_found_where_people_put_the_files(
    tmp_path: Path, table: str, file: str, named: str
) -> None:
    write(tmp_path, {table: f"image,caption\n{named},a dog\n", file: "x"})
    assert items_of(tmp_path, source="s") == [SourceItem(file, caption="a dog", source="s")]


def test_the_table_with_captions_is_taken_and_a_tie_is_an_error(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "a.jpg": "1",
            "captions.jsonl": '{"file": "a.jpg", "caption": "c"}\n',
            "truth.jsonl": '{"file": "a.jpg", "defects": []}\n',
        },
    )
    assert [item.caption for item in items_of(root)] == ["c"]
    write(root, {"more.csv": "file,caption\na.jpg,other\n"})
    with pytest.raises(SourceError, match=r'captions.jsonl, more.csv.*table="captions.jsonl"'):
        open_source(str(root))
    assert [item.caption for item in items_of(root, table="more.csv")] == ["other"]
    both = items_of(root, table="captions.jsonl,more.csv")
    assert [(item.relpath, item.caption) for item in both] == [
        ("a.jpg", "c"),
        ("a.jpg#more.csv:line=2", "other"),
    ]
    assert "line 2 of more.csv names a.jpg again, after line 1 of captions.jsonl" in both[1].problem


def test_a_table_can_be_named_itself(tmp_path: Path) -> None:
    root = write(tmp_path / "dogs", {"list.tsv": "path\tlabel\na.jpg\tpug\n", "a.jpg": "1", "b.jpg": "2"})
    assert items_of(root / "list.tsv") == [
        SourceItem("a.jpg", breed="pug", source="dogs"),
        SourceItem("b.jpg", source="dogs"),
    ]


def test_a_declared_table_without_names_is_an_error_and_so_is_none(tmp_path: Path) -> None:
    root = write(tmp_path, {"a.jpg": "1", "sheet.csv": "author,title\nx,y\n"})
    with pytest.raises(SourceError, match=r"sheet.csv has no column that names files"):
        open_source(str(root), table="sheet.csv")
    with pytest.raises(SourceError, match=r"has no table that names its files; found sheet.csv"):
        open_source(str(root), kind="folder_table")
    with pytest.raises(SourceError, match=r"There is no file none.csv"):
        open_source(str(root), table="none.csv")


def test_12000_rows_are_joined_in_bounded_memory(tmp_path: Path) -> None:
    count = 12_000
    order = np.random.default_rng(7).permutation(count)
    with (tmp_path / "captions.csv").open("w") as file:
        file.write("file,caption\n")
        for number in order:
            file.write(f"{number:06d}.jpg,a photo of dog number {number} on the grass in the afternoon sun\n")
    for number in range(0, count, 120):
        (tmp_path / f"{number:06d}.jpg").write_bytes(b"x")
    source = open_source(str(tmp_path))
    tracemalloc.start()
    start = time.process_time()
    found = missing = 0
    last = ""
    for item in source.items():
        assert item.relpath > last
        last = item.relpath
        assert item.caption.split()[5] == str(int(item.relpath[:6]))
        found, missing = found + (not item.problem), missing + bool(item.problem)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found, missing) == (100, count - 100)
    assert time.process_time() - start < 30
    assert peak < 10 * 2**20  # the rows as Python objects are 16 MB
