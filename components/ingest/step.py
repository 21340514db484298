"""Bring photos and what is known about them into shards. Every file of the source becomes a row."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from components.data.breeds import BreedTable, breed_table
from components.data.identity import code_version, derive_id
from components.data.images import ImageError, ImageHeader, read_header
from components.data.licenses import normalise_license
from components.data.manifest import DataFile, DatasetManifest, Group, Receipt
from components.data.progress import Progress
from components.data.schema import arrow_schema
from components.data.shards import merge_tables, read_file, receipt_path, write_file, write_merged
from components.data.task import Task
from components.ingest.options import IngestOptions
from components.ingest.plan import plan_shards
from components.ingest.reviews import Reviews
from components.ingest.sources.record import Source, SourceError, SourceItem, open_source

INPUTS: tuple[str, ...] = ()
COLUMNS = [
    "image_id",
    "image",
    "format",
    "width_px",
    "height_px",
    "caption",
    "breed",
    "source",
    "source_uri",
    "license",
    "reviewed",
    "clip_key",
    "ingest_error",
]
# A shard is written from memory; photos straight from a camera would make 512 of them several gigabytes.
MAX_SHARD_BYTES = 256 * 2**20
READ_RUN = 256


@dataclass(frozen=True)
class Row:
    """A row of the dataset before its bytes are stored."""

    item: SourceItem
    image_id: str
    breed: str | None
    license: str
    size_bytes: int
    error: str | None

    def fingerprint(self) -> str:
        """What the row is made from."""
        item = self.item
        return derive_id(
            path=item.relpath,
            image_id=self.image_id,
            caption=item.caption,
            breed=self.breed,
            source=item.source,
            license=self.license,
            reviewed=item.reviewed,
            clip_key=item.group,
            error=self.error,
        )


def run(task: Task, *, options: IngestOptions) -> DatasetManifest:
    """Read the source and return its dataset.

    Raises ValueError naming the option when there is no source or nothing in it.
    """
    if not options.source:
        raise ValueError("ingest.source is empty: give the folder or URI that holds the photos.")
    source = _open(options)
    reviews = _reviews(options.reviews)
    rows = list(_rows(source, options, reviews))
    for name in reviews.unused() if reviews else ():
        print(f"ingest: {options.reviews} reviews {name}, which is not among the photos.", flush=True)
    if not rows:
        raise ValueError(f"{options.source} holds no photos (found: {dict(source.ignored) or 'nothing'}).")
    fingerprints = [row.fingerprint() for row in rows]
    folder = f"{options.name}/images/{derive_id(step='ingest', code_version=code_version('ingest'))}"
    plan = plan_shards(fingerprints, _receipts(task, folder), options.shard_rows)
    progress = Progress("ingest", len(rows))
    progress.skip(sum(receipt.file.rows for receipt in plan.reused))
    written = [
        receipt
        for chunk in plan.chunks
        for receipt in _write_chunk(task, folder, source, [rows[i] for i in chunk], progress)
    ]
    position = {fingerprint: index for index, fingerprint in enumerate(fingerprints)}
    receipts = sorted([*plan.reused, *written], key=lambda receipt: position[receipt.row_fingerprints[0]])
    return _manifest(
        task, folder, options, source, rows, fingerprints, [receipt.file for receipt in receipts]
    )


def _open(options: IngestOptions) -> Source:
    """The source with what is declared about it; options of another kind of source are not passed on."""
    declared: dict[str, Any] = {
        "source": options.source_name,
        "license": options.license,
        "reviewed": options.reviewed,
        "group_by": "folder" if options.group_by_folder else "",
    }
    if options.attributions:
        declared["attributions"] = options.attributions
    if options.video_every_n_frames != 30:
        declared["frame_every"] = options.video_every_n_frames
    return open_source(options.source, options.kind, **declared)


def _reviews(path: str) -> Reviews | None:
    if not path:
        return None
    try:
        return Reviews(Path(path).read_bytes(), path)
    except OSError as error:
        raise ValueError(f"ingest.reviews: {path} cannot be read ({error.strerror}).") from None


def _rows(source: Source, options: IngestOptions, reviews: Reviews | None) -> Iterator[Row]:
    """Hash every file once, a run of files at a time, keeping no bytes."""
    breeds = breed_table(options.breeds)
    items = list(source.items())
    progress = Progress("ingest (hashing)", len(items))
    for start in range(0, len(items), READ_RUN):
        run = items[start : start + READ_RUN]
        for item, data in zip(run, source.read(run), strict=True):
            content = b"" if isinstance(data, SourceError) else data
            image_id = hashlib.sha256(content).hexdigest()[:32]
            if reviews is not None:
                item = reviews.apply(item, image_id)
            error = item.problem or (str(data) if isinstance(data, SourceError) else None)
            yield Row(
                item=replace(item, problem=""),
                image_id=image_id,
                breed=_breed(item, breeds, options),
                license=normalise_license(item.license),
                size_bytes=len(content),
                error=error or None,
            )
        progress.add(len(run))


def _breed(item: SourceItem, breeds: BreedTable, options: IngestOptions) -> str | None:
    if item.breed:
        return breeds.key(item.breed)
    if options.breed_from_caption and item.caption:
        found = breeds.find(item.caption)
        return found[0] if len(found) == 1 else None
    return None


def _receipts(task: Task, folder: str) -> Iterator[Receipt]:
    """Receipts of finished shards whose files are still there."""
    entries = {entry.path: entry.size for entry in task.store.list(folder + "/")}
    for path in entries:
        if path.endswith(".json"):
            try:
                receipt = Receipt.model_validate_json(task.store.read(path))
            except ValueError:
                continue  # damaged: its rows are written again, and it with them
            if receipt.row_fingerprints and entries.get(receipt.file.path) == receipt.file.bytes:
                yield receipt


def _write_chunk(
    task: Task, folder: str, source: Source, rows: Sequence[Row], progress: Progress
) -> Iterator[Receipt]:
    """Write the rows as one shard, or as several where their bytes are too many."""
    start, size = 0, 0
    for end, row in enumerate(rows):
        if size and size + row.size_bytes > MAX_SHARD_BYTES:
            yield _write_shard(task, folder, source, rows[start:end])
            progress.add(end - start)
            start, size = end, 0
        size += row.size_bytes
    yield _write_shard(task, folder, source, rows[start:])
    progress.add(len(rows) - start)


def _write_shard(task: Task, folder: str, source: Source, rows: Sequence[Row]) -> Receipt:
    values: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for row, data in zip(rows, source.read([row.item for row in rows]), strict=True):
        content = b"" if isinstance(data, SourceError) else data
        if hashlib.sha256(content).hexdigest()[:32] != row.image_id:
            raise ValueError(
                f"{row.item.relpath} changed while it was being ingested; run the command again."
            )
        header, error = _header(content, row.error)
        item = row.item
        for name, value in (
            ("image_id", row.image_id),
            ("image", content),
            ("format", header.format if header else None),
            ("width_px", header.width_px if header else None),
            ("height_px", header.height_px if header else None),
            ("caption", item.caption),
            ("breed", row.breed),
            ("source", item.source),
            ("source_uri", item.relpath),
            ("license", row.license),
            ("reviewed", item.reviewed),
            ("clip_key", item.group),
            ("ingest_error", error),
        ):
            values[name].append(value)
    fingerprints = [row.fingerprint() for row in rows]
    table = pa.table(values, schema=arrow_schema(COLUMNS))
    receipt = write_file(
        task.store, folder, derive_id(rows=fingerprints), table, row_fingerprints=fingerprints
    )
    if receipt.row_fingerprints != fingerprints:
        raise ValueError(f"{task.store.uri}/{receipt_path(folder, receipt.file.key)} belongs to other rows.")
    return receipt


def _header(content: bytes, error: str | None) -> tuple[ImageHeader | None, str | None]:
    if error:
        return None, error
    try:
        return read_header(content), None
    except ImageError as problem:
        return None, str(problem)


def _manifest(
    task: Task,
    folder: str,
    options: IngestOptions,
    source: Source,
    rows: Sequence[Row],
    fingerprints: Sequence[str],
    shards: list[DataFile],
) -> DatasetManifest:
    small = [name for name in COLUMNS if name != "image"]
    key = derive_id(merged=[shard.key for shard in shards])
    table = merge_tables([read_file(task.store, shard, small) for shard in shards], small)
    merged = write_merged(task.store, folder, key, table)
    counters: dict[str, int | float] = {
        "rows": len(rows),
        "error": table.num_rows - table.column("ingest_error").null_count,
        "breed_unknown": sum(bool(row.item.breed) and row.breed is None for row in rows),
        "reviewed": sum(row.item.reviewed for row in rows),
    }
    # With these two, every file of the source is accounted for.
    for kind, counted in (("ignored", source.ignored), ("sidecar", source.sidecars)):
        counters.update({f"{kind}_{name}": count for name, count in sorted(counted.items())})
    manifest = DatasetManifest(
        name=options.name,
        id=derive_id(step="ingest", code_version=code_version("ingest"), rows=sorted(fingerprints)),
        step="ingest",
        parents=[],
        code_version=code_version("ingest"),
        options={},
        counters=counters,
        rows=len(rows),
        groups={
            "images": Group(
                name="images",
                group_id=folder.rpartition("/")[2],
                columns=COLUMNS,
                shards=shards,
                merged=merged,
            )
        },
    )
    return manifest.save(task.store)
