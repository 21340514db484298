"""Files of a dataset: receipts, racing writers, damage, aligned reading."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.data.manifest import DataFile, DatasetManifest, ManifestError
from components.data.schema import arrow_schema
from components.data.shards import (
    ShardError,
    encode_parquet,
    iter_shard,
    read_file,
    read_receipt,
    read_shard,
    read_table,
    receipt_path,
    verify_file,
    write_file,
)
from components.data.storage import open_store


@pytest.fixture
def store(store_uri):
    return open_store(store_uri)


def scores(values):
    table = {"image_id": [str(v) for v in values], "caption_words": values}
    return pa.table(table, schema=arrow_schema(["image_id", "caption_words"]))


def test_what_is_written_is_read_back(store):
    file = write_file(store, "d/g/1", "k", scores([1, 2, 3])).file
    assert read_file(store, file).equals(scores([1, 2, 3]))
    assert read_file(store, file, ["caption_words"]).column_names == ["caption_words"]
    verify_file(store, file)


def test_the_first_of_two_writers_wins_and_the_second_adopts_its_file(store):
    first = write_file(store, "d/g/1", "k", scores([1]), counters={"rows": 1})
    second = write_file(store, "d/g/1", "k", scores([2]))
    assert second == first
    assert read_file(store, second.file).column("caption_words").to_pylist() == [1]


def test_a_file_without_receipt_does_not_count(store):
    receipt = write_file(store, "d/g/1", "k", scores([1]))
    store.delete(receipt_path("d/g/1", "k"))
    assert read_receipt(store, "d/g/1", "k") is None
    assert write_file(store, "d/g/1", "k", scores([1])) == receipt


def test_a_receipt_whose_file_is_gone_or_short_is_not_trusted_and_is_replaced(store):
    receipt = write_file(store, "d/g/1", "k", scores([1]))
    store.write(receipt.file.path, b"short")
    assert read_receipt(store, "d/g/1", "k") is None
    store.delete(receipt.file.path)
    assert read_receipt(store, "d/g/1", "k") is None
    again = write_file(store, "d/g/1", "k", scores([7]))
    assert read_receipt(store, "d/g/1", "k") == again
    assert read_file(store, again.file).column("caption_words").to_pylist() == [7]


def test_bytes_changed_in_place_are_found_by_verification(store):
    file = write_file(store, "d/g/1", "k", scores([1])).file
    data = bytearray(store.read(file.path))
    data[len(data) // 2] ^= 1
    store.write(file.path, bytes(data))
    with pytest.raises(ShardError, match="is damaged"):
        verify_file(store, file)


def test_a_missing_file_is_an_error_that_names_it(store):
    file = DataFile(key="k", path="d/none.parquet", rows=1, bytes=1, sha256="", digest="")
    with pytest.raises(ShardError, match=r"d/none\.parquet is gone"):
        read_file(store, file)


def test_batches_carry_every_row_once_in_order_and_never_cross_a_shard(store, photos):
    dataset = photos(store, shards=((0, 5), (5, 3)))
    sizes = []
    for index, start in ((0, 0), (1, 5)):
        batches = list(iter_shard(store, dataset, index, ["image", "caption"]))
        sizes.append([batch.num_rows for batch in batches])
        data = [item for batch in batches for item in batch.column("image").to_pylist()]
        assert data == [f"photo {start + i}".encode() for i in range(len(data))]
    assert sizes == [[2, 2, 1], [2, 1]]


def test_whole_columns_come_in_row_order_of_the_shards(store, photos):
    dataset = photos(store)
    assert read_table(store, dataset, ["caption"]).column("caption").to_pylist() == [
        f"caption {i}" for i in range(8)
    ]


def test_a_column_no_step_has_added_names_the_step_to_run(store, photos):
    with pytest.raises(ManifestError, match="run the step similarity"):
        read_table(store, photos(store), ["clip_similarity"])


def test_a_group_whose_image_ids_differ_is_refused(store, photos):
    dataset = photos(store, shards=((0, 2),))
    wrong = write_file(store, "dogs/captions/1", "k", scores([1, 2])).file
    group = dataset.groups["images"].model_copy(
        update={
            "name": "captions",
            "columns": ["image_id", "caption_words"],
            "shards": [wrong],
            "merged": wrong,
        }
    )
    mixed = dataset.model_copy(update={"groups": {**dataset.groups, "captions": group}})
    with pytest.raises(ShardError, match="group captions is misaligned"):
        read_shard(store, mixed, 0, ["caption", "caption_words"])


def test_images_are_stored_plain_in_small_row_groups_without_statistics(store, photos, tmp_path):
    dataset = photos(store)
    path = tmp_path / "shard.parquet"
    path.write_bytes(store.read(dataset.groups["images"].shards[0].path))
    metadata = pq.ParquetFile(path).metadata
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [2, 2, 1]
    column = metadata.row_group(0).column(1)
    assert (column.path_in_schema, column.compression, column.is_stats_set) == (
        "image",
        "UNCOMPRESSED",
        False,
    )
    assert "PLAIN_DICTIONARY" not in column.encodings
    assert "RLE_DICTIONARY" not in column.encodings


def test_lists_are_compressed_with_a_dictionary_and_ids_without_one():
    """Parquet knows a list by the path of its items: settings under its own name would do nothing."""
    names = ["image_id", "reasons", "subject_box", "color_shift", "mask_rle"]
    values = {
        "image_id": [f"{i:032x}" for i in range(100)],
        "reasons": [["min_side_px", "color_shift"]] * 100,
        "subject_box": [[0, 0, 9, 9]] * 100,
        "color_shift": [0.5] * 100,
        "mask_rle": [b"x"] * 100,
    }
    table = pa.table(values, schema=arrow_schema(names))
    data = encode_parquet(table)
    assert pq.read_table(pa.BufferReader(data)).equals(table)
    group = pq.ParquetFile(pa.BufferReader(data)).metadata.row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    assert [(c.path_in_schema.split(".")[0], c.compression, c.has_dictionary_page) for c in columns] == [
        ("image_id", "ZSTD", False),
        ("reasons", "ZSTD", True),
        ("subject_box", "ZSTD", True),
        ("color_shift", "ZSTD", False),
        ("mask_rle", "UNCOMPRESSED", False),
    ]


def test_manifest_round_trips_and_knows_its_missing_files(store, photos):
    dataset = photos(store)
    assert DatasetManifest.load(store, dataset.path) == dataset
    assert dataset.missing_files(store) == []
    shard = dataset.groups["images"].shards[1].path
    store.delete(shard)
    assert dataset.missing_files(store) == [shard]


def test_saving_adopts_a_stored_manifest_but_replaces_one_whose_files_are_gone(store, photos):
    dataset = photos(store)
    other = dataset.model_copy(update={"counters": {"rows": 8, "late": 1}})
    assert other.save(store) == dataset
    store.delete(dataset.groups["images"].shards[0].path)
    again = photos(store)
    assert again.missing_files(store) == []
    assert other.save(store) == dataset


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is not a dataset manifest"),
        (b"{}", "is not a dataset manifest"),
        (b"\xff\xfe", "is not a dataset manifest"),
    ],
)
def test_a_broken_manifest_is_an_error_that_names_the_file(data, said):
    with pytest.raises(ManifestError, match=f"here {said}"):
        DatasetManifest.from_bytes(data, "here")


def test_a_manifest_of_another_format_is_refused(store, photos):
    data = json.loads(photos(store).to_bytes())
    data["format"] = 99
    with pytest.raises(ManifestError, match="format 99"):
        DatasetManifest.from_bytes(json.dumps(data).encode(), "here")
