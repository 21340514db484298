"""A small dataset of fake photos, made through the product's own writer."""

import hashlib

import pyarrow as pa
import pytest

from components.data.manifest import DatasetManifest, Group
from components.data.schema import arrow_schema
from components.data.shards import merge_tables, write_file, write_merged

COLUMNS = ["image_id", "image", "caption", "ingest_error"]


def make_photos(store, shards=((0, 5), (5, 3)), name="dogs"):
    """A dataset whose image bytes and captions are numbers; `shards` are (first number, rows)."""
    files = []
    tables = []
    for start, rows in shards:
        data = [f"photo {number}".encode() for number in range(start, start + rows)]
        table = pa.table(
            {
                "image_id": [hashlib.sha256(item).hexdigest()[:32] for item in data],
                "image": data,
                "caption": [f"caption {number}" for number in range(start, start + rows)],
                "ingest_error": [None] * rows,
            },
            schema=arrow_schema(COLUMNS),
        )
        tables.append(table)
        files.append(write_file(store, f"{name}/images/x", f"{start}-{rows}", table, row_group_rows=2).file)
    small = [column for column in COLUMNS if column != "image"]
    merged = write_merged(store, f"{name}/images/x", f"all-{len(shards)}", merge_tables(tables, small))
    return DatasetManifest(
        name=name,
        id=f"test-{len(shards)}",
        step="ingest",
        parents=[],
        code_version="0",
        options={},
        rows=sum(rows for _, rows in shards),
        groups={"images": Group(name="images", group_id="x", columns=COLUMNS, shards=files, merged=merged)},
    ).save(store)


@pytest.fixture
def photos():
    return make_photos
