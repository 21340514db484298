"""Pictures in Parquet rows."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.ingest.sources.parquet import ParquetRows, picture_column
from components.ingest.sources.record import SourceError, SourceItem, open_source

IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def hf_table(pictures: list[bytes | None], **columns: list[object]) -> pa.Table:
    structs = [{"bytes": value, "path": f"{at}.jpg"} for at, value in enumerate(pictures)]
    return pa.table({"image": pa.array(structs, IMAGE), **columns})


def test_hugging_face_rows_with_class_labels(tmp_path: Path) -> None:
    features = {"label": {"names": ["beagle", "pug"], "_type": "ClassLabel"}, "image": {"_type": "Image"}}
    table = hf_table(
        [b"A", b"B", b"C"], text=["one", None, "three"], label=[1, 0, 7]
    ).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    (tmp_path / "data").mkdir()
    pq.write_table(table, tmp_path / "data/train-00000-of-00001.parquet", row_group_size=2)
    (tmp_path / "README.md").write_text("x")
    source = open_source(str(tmp_path), source="hub", license="CC0")
    items = list(source.items())
    name = "data/train-00000-of-00001.parquet#00000000"
    assert items == [
        SourceItem(f"{name}0", "one", "pug", "hub", "CC0"),
        SourceItem(f"{name}1", "", "beagle", "hub", "CC0"),
        SourceItem(f"{name}2", "three", "7", "hub", "CC0"),
    ]
    assert list(source.read(items)) == [b"A", b"B", b"C"]
    assert source.ignored == {".md": 1}


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()])
def test_a_binary_column_beside_other_columns(tmp_path: Path, kind: pa.DataType) -> None:
    table = pa.table(
        {
            "id": [5, 6],
            "jpg": pa.array([b"A", b"B"], kind),
            "caption": [["x", "y"], []],
            "reviewed": [True, False],
        }
    )
    pq.write_table(table, tmp_path / "p.parquet")
    source = open_source(str(tmp_path / "p.parquet"))
    items = list(source.items())
    assert [(item.caption, item.reviewed) for item in items] == [("x", True), ("", False)]
    assert list(source.read(items)) == [b"A", b"B"]


def test_rows_without_bytes_are_read_from_their_path_or_told(tmp_path: Path) -> None:
    (tmp_path / "0.jpg").write_bytes(b"from file")
    structs = [
        {"bytes": None, "path": "0.jpg"},
        {"bytes": None, "path": "../secret.jpg"},
        {"bytes": None, "path": None},
        None,
        {"bytes": b"ok", "path": None},
    ]
    pq.write_table(pa.table({"image": pa.array(structs, IMAGE)}), tmp_path / "p.parquet")
    source = open_source(str(tmp_path), kind="parquet")
    items = list(source.items())
    data = list(source.read(items))
    assert data[0] == b"from file" and data[4] == b"ok"
    assert "leaves the source" in str(data[1])
    assert str(data[2]) == "p.parquet#000000002 has no bytes." == str(data[3]).replace("3 has", "2 has")


def test_a_failed_download_is_a_problem(tmp_path: Path) -> None:
    table = pa.table(
        {
            "jpg": [b"A", None],
            "caption": ["a", "b"],
            "status": ["success", "failed_to_resize"],
            "error_message": [None, "bad"],
        }
    )
    pq.write_table(table, tmp_path / "p.parquet")
    source = open_source(str(tmp_path))
    items = list(source.items())
    assert [item.problem for item in items] == ["", "img2dataset: failed_to_resize, bad"]
    assert [str(found) for found in source.read(items)] == ["b'A'", "img2dataset: failed_to_resize, bad"]


def test_every_order_and_selection_of_rows_reads_the_right_bytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    for part in range(2):
        pictures = [f"{part}/{row}".encode() * 20 for row in range(150)]
        pq.write_table(pa.table({"image": pictures}), tmp_path / f"{part}.parquet", row_group_size=40)
    source = open_source(str(tmp_path))
    items = list(source.items())
    assert [item.relpath for item in items] == sorted(item.relpath for item in items)
    truth = [f"{part}/{row}".encode() * 20 for part in range(2) for row in range(150)]
    assert list(source.read(items)) == truth
    for _ in range(5):
        chosen = rng.choice(300, size=60, replace=True)
        assert list(source.read([items[at] for at in chosen])) == [truth[at] for at in chosen]
    runs = [found for start in range(0, 300, 70) for found in source.read(items[start : start + 70])]
    assert runs == truth


def test_runs_in_order_decode_each_batch_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(
        pa.table({"image": [bytes([row % 256]) * 10 for row in range(640)]}), tmp_path / "p.parquet"
    )
    source = open_source(str(tmp_path))
    items = list(source.items())
    rows_decoded = 0
    original = pq.ParquetFile.iter_batches

    def counted(self: pq.ParquetFile, *args: object, **options: object) -> object:
        nonlocal rows_decoded
        for batch in original(self, *args, **options):
            rows_decoded += len(batch)
            yield batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counted)
    for start in range(0, 640, 50):
        assert len(list(source.read(items[start : start + 50]))) == min(50, 640 - start)
    assert rows_decoded == 640


def test_damage_and_unknown_rows_are_told(tmp_path: Path) -> None:
    pq.write_table(pa.table({"image": [b"A" * 1000] * 5, "text": ["x"] * 5}), tmp_path / "good.parquet")
    whole = (tmp_path / "good.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    pq.write_table(pa.table({"text": ["no picture"]}), tmp_path / "texts.parquet")
    source = open_source(str(tmp_path))
    items = list(source.items())
    problems = {item.relpath: item.problem for item in items if item.problem}
    assert set(problems) == {"cut.parquet", "texts.parquet"}
    assert "cut.parquet is no readable Parquet file" in problems["cut.parquet"]
    assert "texts.parquet has no pictures" in problems["texts.parquet"]
    data = list(
        source.read([*items, SourceItem("good.parquet#000000009"), SourceItem("none.parquet#000000001")])
    )
    assert sum(isinstance(found, bytes) for found in data) == 5
    assert "no row 9" in str(data[-2]) and "There is no file none.parquet" in str(data[-1])


def test_a_damaged_row_group_costs_its_own_rows_only(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    pictures = [rng.bytes(3000) for _ in range(120)]
    path = tmp_path / "p.parquet"
    pq.write_table(
        pa.table({"image": pictures}),
        path,
        row_group_size=40,
        compression="zstd",
        use_dictionary=False,
        write_page_checksum=True,
    )
    data = bytearray(path.read_bytes())
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset
    data[start : start + 40] = bytes(40)  # the header of the second row group's first page
    path.write_bytes(data)
    source = open_source(str(tmp_path))
    items = list(source.items())
    found = list(source.read(items))
    assert len(items) == 120
    assert found[:40] == pictures[:40] and found[80:] == pictures[80:]
    assert all("p.parquet is damaged" in str(value) for value in found[40:80])


def test_a_folder_of_parquet_without_pictures_is_an_error(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["x"]}), tmp_path / "p.parquet")
    with pytest.raises(SourceError, match=r"p.parquet has no pictures: looked for .* among text"):
        open_source(str(tmp_path))


def test_the_picture_column_is_found_by_type_then_name() -> None:
    schema = pa.schema([("hash", pa.binary()), ("img", pa.binary()), ("text", pa.string())])
    assert picture_column(schema, "p").column == "img"
    with pytest.raises(SourceError, match="several binary columns: a, b"):
        picture_column(pa.schema([("a", pa.binary()), ("b", pa.binary())]), "p")


def test_pictures_are_not_read_to_list_the_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(hf_table([b"A"], text=["x"]), tmp_path / "p.parquet")
    asked: list[object] = []
    original = pq.ParquetFile.iter_batches

    def recorded(self: pq.ParquetFile, *args: object, **options: object) -> object:
        asked.append(options["columns"])
        return original(self, *args, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", recorded)
    source = open_source(str(tmp_path))
    assert isinstance(source, ParquetRows) and len(list(source.items())) == 1
    assert asked == [["text", "image.path"]]
