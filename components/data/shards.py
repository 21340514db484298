"""Reading and writing the Parquet files of a dataset.

A file is done when its receipt exists; the receipt is written by put-if-absent after the file, so a killed
writer leaves nothing that counts, and of two writers the first wins and the second adopts its file.
"""

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pyarrow as pa
import pyarrow.parquet as pq

from components.data.digest import content_digest
from components.data.killpoints import killpoint
from components.data.manifest import DataFile, DatasetManifest, Group, ManifestError, Receipt, sha256_hex
from components.data.schema import BLOB_COLUMNS, arrow_schema
from components.data.storage import Store

# Image bytes are read a row group at a time; 100 photos keep that under some 64 MB.
ROW_GROUP_ROWS = 100
# Files of numbers and short text are read whole; large row groups compress and decode best.
MERGED_ROW_GROUP_ROWS = 131_072
READ_THREADS = 8


class ShardError(ValueError):
    """Stored rows that do not line up, or a file that is not what its receipt says."""


def encode_parquet(table: pa.Table, row_group_rows: int = ROW_GROUP_ROWS) -> pa.Buffer:
    """Parquet bytes: blobs plain and without statistics, everything else zstd with dictionaries."""
    sink = pa.BufferOutputStream()
    leaves = {_leaf(field): field for field in table.schema}
    small = [leaf for leaf, field in leaves.items() if field.name not in BLOB_COLUMNS]
    pq.write_table(
        table,
        sink,
        row_group_size=row_group_rows,
        compression={leaf: "ZSTD" if leaf in small else "NONE" for leaf in leaves},
        use_dictionary=[leaf for leaf in small if _repeats(leaves[leaf])],
        write_statistics=small,
    )
    return sink.getvalue()


def _leaf(field: pa.Field) -> str:
    """The path by which Parquet knows a column: settings under the bare name of a list would be ignored."""
    nested = pa.types.is_list(field.type) or pa.types.is_fixed_size_list(field.type)
    return f"{field.name}.list.element" if nested else field.name


def _repeats(field: pa.Field) -> bool:
    """Whether a dictionary can pay: ids and measured values hardly occur twice."""
    return field.name != "image_id" and not pa.types.is_floating(field.type)


def receipt_path(folder: str, key: str) -> str:
    """Where the receipt of the file with this key lies."""
    return f"{folder}/part-{key}.json"


def read_receipt(store: Store, folder: str, key: str) -> Receipt | None:
    """The receipt, if the file is done and still there with the size it had; else None."""
    path = receipt_path(folder, key)
    if store.size(path) is None:
        return None
    try:
        receipt = Receipt.model_validate_json(store.read(path))
    except ValueError:
        return None
    return receipt if store.size(receipt.file.path) == receipt.file.bytes else None


def write_file(
    store: Store,
    folder: str,
    key: str,
    table: pa.Table,
    *,
    counters: dict[str, int] | None = None,
    row_fingerprints: Sequence[str] = (),
    row_group_rows: int = ROW_GROUP_ROWS,
) -> Receipt:
    """Write a table and its receipt; returns the receipt that counts, which may be another writer's."""
    with ThreadPoolExecutor(1) as pool:  # a million rows take some 0.4 s each for digest and encoding
        digest = pool.submit(content_digest, table)
        data = memoryview(encode_parquet(table, row_group_rows))
        sha256 = hashlib.sha256(data).hexdigest()
    path = f"{folder}/part-{key}-{sha256[:8]}.parquet"
    receipt = Receipt(
        file=DataFile(
            key=key,
            path=path,
            rows=table.num_rows,
            bytes=len(data),
            sha256=sha256,
            digest=f"{digest.result():032x}",
        ),
        counters=counters or {},
        row_fingerprints=list(row_fingerprints),
    )
    killpoint("shard.before")
    store.write(path, bytes(data))
    killpoint("shard.after")
    encoded = receipt.model_dump_json().encode()
    if not store.create(receipt_path(folder, key), encoded):
        winner = read_receipt(store, folder, key)
        if winner is not None:
            return winner
        # The receipt is there but its file is gone or damaged: this file takes its place.
        store.write(receipt_path(folder, key), encoded)
    killpoint("receipt.after")
    return receipt


def read_file(store: Store, file: DataFile, columns: Sequence[str] | None = None) -> pa.Table:
    """Columns of one file (all by default)."""
    filesystem, root = store.filesystem()
    try:
        table = pq.read_table(
            f"{root}/{file.path}",
            filesystem=filesystem,
            columns=list(columns) if columns is not None else None,
        )
    except FileNotFoundError:
        raise ShardError(f"{store.uri}/{file.path} is gone; run the step that makes it again.") from None
    if table.num_rows != file.rows:
        raise ShardError(f"{store.uri}/{file.path} has {table.num_rows} rows where {file.rows} were written.")
    return table


def verify_file(store: Store, file: DataFile) -> None:
    """Read a whole file and compare its sha256; raises ShardError."""
    found = sha256_hex(store.read(file.path))
    if found != file.sha256:
        raise ShardError(f"{store.uri}/{file.path} is damaged: its sha256 is {found}, not {file.sha256}.")


def read_table(store: Store, dataset: DatasetManifest, columns: Sequence[str]) -> pa.Table:
    """Small columns of all rows, in row order, from the groups' merged files.

    image_id was checked for alignment when the merged files were made, so it is read only when asked for.
    Raises ManifestError for a column no step has added yet.
    """
    wanted: dict[str, list[str]] = {}
    for name in columns:
        if name in BLOB_COLUMNS:
            raise ManifestError(f"{name} is read shard by shard, not for a whole dataset.")
        group = dataset.group_of(name)
        wanted.setdefault(group.name, []).append(name)

    def read(item: tuple[str, list[str]]) -> pa.Table:
        return read_file(store, dataset.groups[item[0]].merged, item[1])

    with ThreadPoolExecutor(READ_THREADS) as pool:
        tables = list(pool.map(read, wanted.items()))
    arrays = {
        name: table.column(name)
        for (_, names), table in zip(wanted.items(), tables, strict=True)
        for name in names
    }
    return pa.table({name: arrays[name] for name in columns})


def shard_offsets(dataset: DatasetManifest) -> list[tuple[int, int]]:
    """(first row, row count) of every image shard."""
    offsets, start = [], 0
    for shard in dataset.groups["images"].shards:
        offsets.append((start, shard.rows))
        start += shard.rows
    return offsets


def read_shard(store: Store, dataset: DatasetManifest, index: int, columns: Sequence[str]) -> pa.Table:
    """Columns of one shard joined across groups; every group's image_id is compared (ShardError)."""
    start, rows = shard_offsets(dataset)[index]
    wanted: dict[str, list[str]] = {}
    for name in columns:
        wanted.setdefault(dataset.group_of(name).name, []).append(name)
    image_ids: pa.ChunkedArray | None = None
    arrays: dict[str, pa.ChunkedArray] = {}
    for group_name, names in wanted.items():
        group = dataset.groups[group_name]
        with_id = list(dict.fromkeys([*names, "image_id"]))
        if group.shards:
            table = read_file(store, group.shards[index], with_id)
        else:
            table = read_file(store, group.merged, with_id).slice(start, rows)
        image_ids = image_ids if image_ids is not None else table.column("image_id")
        if not table.column("image_id").equals(image_ids):
            raise ShardError(
                f"Shard {index} of {dataset.name} {dataset.id}: group {group_name} is misaligned."
            )
        arrays.update((name, table.column(name)) for name in names)
    return pa.table({name: arrays[name] for name in columns})


def iter_shard(
    store: Store,
    dataset: DatasetManifest,
    index: int,
    columns: Sequence[str],
    batch_rows: int = ROW_GROUP_ROWS,
) -> Iterator[pa.RecordBatch]:
    """Batches of one shard, blobs read a row group ahead of use so that memory stays at two row groups.

    Batches never cross shards. Every batch carries image_id beside the asked columns.
    """
    columns = list(dict.fromkeys(["image_id", *columns]))
    blobs = [name for name in columns if name in BLOB_COLUMNS]
    small = read_shard(store, dataset, index, [name for name in columns if name not in blobs])
    if not blobs:
        yield from small.combine_chunks().to_batches(max_chunksize=batch_rows)
        return
    filesystem, root = store.filesystem()
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(
                pq.ParquetFile(
                    f"{root}/{dataset.group_of(name).shards[index].path}",
                    filesystem=filesystem,
                    pre_buffer=True,
                )
            )
            for name in blobs
        }
        pool = stack.enter_context(ThreadPoolExecutor(1))

        def read(row_group: int) -> dict[str, pa.ChunkedArray]:
            return {name: file.read_row_group(row_group, [name]).column(0) for name, file in files.items()}

        start = 0
        row_groups = next(iter(files.values())).metadata.num_row_groups
        ahead = pool.submit(read, 0)
        for row_group in range(row_groups):
            blob = ahead.result()
            if row_group + 1 < row_groups:
                ahead = pool.submit(read, row_group + 1)
            rows = len(next(iter(blob.values())))
            part = small.slice(start, rows)
            start += rows
            table = pa.table({name: blob[name] if name in blob else part.column(name) for name in columns})
            yield from table.combine_chunks().to_batches(max_chunksize=batch_rows)


def merge_tables(tables: Sequence[pa.Table], columns: Sequence[str]) -> pa.Table:
    """Concatenate the shards' small columns into the table of a merged file."""
    small = [name for name in columns if name not in BLOB_COLUMNS]
    schema = arrow_schema(small)
    return (
        pa.concat_tables([table.select(small).cast(schema) for table in tables])
        if tables
        else schema.empty_table()
    )


def write_merged(store: Store, folder: str, key: str, table: pa.Table) -> DataFile:
    """Write (or adopt) the merged file of a group."""
    done = read_receipt(store, folder, key)
    if done is not None:
        return done.file
    return write_file(store, folder, key, table, row_group_rows=MERGED_ROW_GROUP_ROWS).file


def check_group(store: Store, dataset: DatasetManifest, group: Group) -> None:
    """Every shard of a new group lines up with the images' shards (ShardError)."""
    images = dataset.groups["images"].shards
    if [shard.rows for shard in group.shards] != [shard.rows for shard in images]:
        raise ShardError(
            f"Group {group.name} of {dataset.name} has not as many rows per shard as the images."
        )
