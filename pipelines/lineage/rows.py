"""Reading single rows out of the groups of a dataset: by column, by row group, never image bytes."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from components.data.manifest import DataFile, Group
from components.data.schema import BLOB_COLUMNS
from components.data.shards import ShardError, read_file
from components.data.storage import Store


@lru_cache(maxsize=8)
def _column(store: Store, path: str, rows: int, name: str) -> pa.ChunkedArray:
    """A small column of a whole merged file; files never change once they have their name."""
    file = DataFile(key="", path=path, rows=rows, bytes=0, sha256="", digest="")
    return read_file(store, file, [name]).column(name)


def column(store: Store, group: Group, name: str) -> pa.ChunkedArray:
    """A small column of all rows of a group, in row order. Kept in memory for the next question."""
    return _column(store, group.merged.path, group.merged.rows, name)


def rows_where(store: Store, group: Group, name: str, value: str, *, prefix: bool = False) -> list[int]:
    """Row numbers at which a text column equals `value`, or begins with it."""
    values = column(store, group, name)
    hit = pc.starts_with(values, value) if prefix else pc.equal(values, value)
    return pc.indices_nonzero(hit.fill_null(False)).to_pylist()


def read_row(store: Store, group: Group, row: int, image_id: str) -> dict[str, Any]:
    """The small columns of one row of a group, from the one row group of its merged file that holds it.

    Raises ShardError when the file is gone or another image stands there: groups line up row by row.
    """
    filesystem, root = store.filesystem()
    names = [name for name in group.columns if name not in BLOB_COLUMNS]
    try:
        with pq.ParquetFile(f"{root}/{group.merged.path}", filesystem=filesystem) as file:
            start = 0
            for number in range(file.metadata.num_row_groups):
                rows = file.metadata.row_group(number).num_rows
                if row < start + rows:
                    found = file.read_row_group(number, names).slice(row - start, 1).to_pylist()[0]
                    break
                start += rows
            else:
                found = {}
    except FileNotFoundError:
        where = store.locate(group.merged.path)
        raise ShardError(f"{where} is gone; run the step that makes it again.") from None
    if found.get("image_id") != image_id:
        raise ShardError(f"{store.locate(group.merged.path)} has another image than {image_id} in row {row}.")
    return found


def shard_of(group: Group, row: int) -> tuple[DataFile, int]:
    """The file that holds a row, and the row's number in it; the merged file of a group without shards."""
    start = 0
    for shard in group.shards:
        if row < start + shard.rows:
            return shard, row - start
        start += shard.rows
    return group.merged, row


def texts_of(store: Store, group: Group, ids: Sequence[str]) -> Mapping[str, str]:
    """Texts of an encoded dataset's group `texts` by text_id; ids it does not hold are left out."""
    filesystem, root = store.filesystem()
    table = pq.read_table(
        f"{root}/{group.merged.path}",
        filesystem=filesystem,
        columns=["text_id", "text"],
        filters=[("text_id", "in", set(ids))],
    )
    return dict(zip(table.column("text_id").to_pylist(), table.column("text").to_pylist(), strict=True))
