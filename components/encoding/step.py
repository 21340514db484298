"""Make the training set of the kept rows: pictures of one size, and text states."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from components.data.encoded import EMPTY_TEXT_ID, SAMPLES, TEXTS, text_id
from components.data.identity import code_version, derive_id
from components.data.images import ImageError
from components.data.manifest import DataFile, DatasetManifest, Group
from components.data.options import identity_options
from components.data.progress import Progress
from components.data.schema import BLOB_COLUMNS, arrow_schema
from components.data.shards import (
    iter_shard,
    merge_tables,
    read_file,
    read_receipt,
    read_table,
    shard_offsets,
    write_file,
    write_merged,
)
from components.data.task import Task, step_id
from components.encoding.latents import LATENT_COLUMNS, Latents
from components.encoding.options import EncodingOptions
from components.encoding.picture import training_picture
from components.model.policy import text_policy
from components.model.published import CLIP
from components.model.weights import resolve

if TYPE_CHECKING:
    from components.model.text import TextTower

INPUTS = ("dataset",)
IMAGE = "dogflow-train"
ROW_COLUMNS = ["image_id", "breed", "tier", "split", "caption_id", "prompt_id"]
TEXTS_PER_SHARD = 2048


def run(task: Task, dataset: DatasetManifest, *, options: EncodingOptions) -> DatasetManifest:
    """Encode the rows that selection kept into a new dataset.

    Raises ValueError when nothing was kept, and WeightsError when a model is not there.
    """
    rows = read_table(task.store, dataset, ["keep", "caption", "prompt", "breed"])
    keep = np.asarray(rows.column("keep"))
    if not keep.any():
        raise ValueError(
            f"Selection kept none of the {dataset.rows} rows of {dataset.name}: loosen its thresholds "
            "(the report shows how many rows each rule rejects)."
        )
    kept = rows.filter(rows.column("keep"))
    texts = sorted({"", *_present(kept, "caption"), *_present(kept, "prompt")})
    breeds = sorted(set(_present(kept, "breed")))
    name = f"{dataset.name}-encoded"
    samples, failed = _samples(task, dataset, options, keep, breeds, name)
    text_group = _texts(task, options, texts, name)
    policy = {"texts": text_group.policy, "samples": samples.policy}
    manifest = DatasetManifest(
        name=name,
        id=step_id("encoding", [dataset], options, policy),
        step="encoding",
        parents=[dataset.id],
        code_version=code_version("encoding"),
        options=identity_options(options),
        counters={
            "rows": sum(shard.rows for shard in samples.shards),
            "error": failed,
            "texts": len(texts),
            "breeds": len(breeds),
        },
        history=[*dataset.history, dataset.record()],
        rows=sum(shard.rows for shard in samples.shards),
        groups={SAMPLES: samples, TEXTS: text_group},
    )
    return manifest.save(task.store)


def _present(table: pa.Table, name: str) -> list[str]:
    return [value for value in table.column(name).to_pylist() if value is not None]


def _samples(
    task: Task,
    dataset: DatasetManifest,
    options: EncodingOptions,
    keep: np.ndarray,
    breeds: list[str],
    name: str,
) -> tuple[Group, int]:
    """The samples group: one encoded shard per shard with kept rows. Also the number of failed rows."""
    crop = bool(dataset.options.get("crop_to_subject")) if dataset.step == "selection" else False
    shape = [options.size_px, options.size_px, 3]
    policy: dict[str, Any] = {"shape": shape, "resize": "lanczos", "crop_to_subject": crop}
    columns = [*ROW_COLUMNS, "pixels"]
    latents = Latents(options) if options.autoencoder else None
    if latents:
        policy["latents"] = latents.policy
        columns += LATENT_COLUMNS
    folder = f"{name}/{SAMPLES}/{derive_id(policy=policy, code_version=code_version('encoding'))}"
    progress = Progress("encoding", int(keep.sum()))
    files: list[DataFile] = []
    failed = 0
    for index, (start, count) in enumerate(shard_offsets(dataset)):
        mine = keep[start : start + count]
        if not mine.any():
            continue
        table = _kept_rows(task, dataset, index, mine)
        # Everything that ends up in the shard: its pictures, crops and row values.
        key = derive_id(rows=table.to_pylist())
        receipt = read_receipt(task.store, folder, key)
        if receipt is None:
            encoded = _encode_shard(task, dataset, index, mine, table, options.size_px, crop, progress)
            if latents:
                encoded = latents.added_to(encoded)
            counters = {"error": table.num_rows - encoded.num_rows}
            receipt = write_file(task.store, folder, key, encoded.select(columns), counters=counters)
        else:
            progress.skip(table.num_rows)
        failed += receipt.counters.get("error", 0)
        if receipt.file.rows:
            files.append(receipt.file)
    merged_key = derive_id(merged=[file.key for file in files])
    tables = [read_file(task.store, file, ROW_COLUMNS) for file in files]
    merged = write_merged(task.store, folder, merged_key, merge_tables(tables, ROW_COLUMNS))
    group_id = folder.rpartition("/")[2]
    policy["breeds"] = breeds
    group = Group(
        name=SAMPLES, group_id=group_id, columns=columns, policy=policy, shards=files, merged=merged
    )
    return group, failed


def _kept_rows(task: Task, dataset: DatasetManifest, index: int, mine: np.ndarray) -> pa.Table:
    """Row values of a shard's kept rows, with their crop boxes where the dataset has them."""
    names = ["image_id", "breed", "tier", "split", "caption", "prompt"]
    if "crop_box" in dataset.columns:
        names.append("crop_box")
    batches = list(iter_shard(task.store, dataset, index, names))
    table = pa.Table.from_batches(batches).filter(pa.array(mine))
    for text, column in (("caption", "caption_id"), ("prompt", "prompt_id")):
        ids = [
            text_id(value) if value is not None else EMPTY_TEXT_ID for value in table.column(text).to_pylist()
        ]
        table = table.append_column(column, pa.array(ids, pa.string()))
    return table.drop_columns(["caption", "prompt"])


def _encode_shard(
    task: Task,
    dataset: DatasetManifest,
    index: int,
    mine: np.ndarray,
    table: pa.Table,
    size_px: int,
    crop: bool,
    progress: Progress,
) -> pa.Table:
    boxes = table.column("crop_box").to_pylist() if crop else [None] * table.num_rows
    pictures = _pictures(task, dataset, index, mine, boxes, size_px, progress)
    good = [(row, picture.tobytes()) for row, picture in enumerate(pictures) if picture is not None]
    out = table.take(pa.array([row for row, _ in good], pa.int64())).select(ROW_COLUMNS)
    out = out.append_column("pixels", pa.array([pixels for _, pixels in good], pa.large_binary()))
    return out.cast(arrow_schema(out.column_names))


def _pictures(
    task: Task,
    dataset: DatasetManifest,
    index: int,
    mine: np.ndarray,
    boxes: Sequence[list[int] | None],
    size_px: int,
    progress: Progress,
) -> Iterator[np.ndarray | None]:
    """Training pictures of the kept rows, in order; None (and a line in the log) for one that fails."""

    def make(item: tuple[bytes, list[int] | None, str]) -> np.ndarray | None:
        data, box, image_id = item
        try:
            return training_picture(data, size_px, box)
        except ImageError as error:
            print(f"encoding leaves out {image_id}: {error}", flush=True)
            return None

    kept = 0
    row = 0
    with ThreadPoolExecutor(task.workers) as pool:
        for batch in iter_shard(task.store, dataset, index, ["image"]):
            wanted = np.flatnonzero(mine[row : row + batch.num_rows])
            row += batch.num_rows
            ids, images = batch.column("image_id"), batch.column("image")
            items = [
                (images[int(i)].as_py(), boxes[kept + n], ids[int(i)].as_py()) for n, i in enumerate(wanted)
            ]
            kept += len(wanted)
            for picture in pool.map(make, items):
                yield picture
                progress.add()


def _texts(task: Task, options: EncodingOptions, texts: list[str], name: str) -> Group:
    """The texts group: states of every distinct text, computed once."""
    policy = text_policy(resolve(options.text_model, CLIP))
    folder = f"{name}/{TEXTS}/{derive_id(policy=policy, code_version=code_version('encoding'))}"
    columns = ["text_id", "text", "text_tokens", "text_states"]
    files = []
    tower: TextTower | None = None
    progress = Progress("encoding (texts)", len(texts), "texts")
    for start in range(0, len(texts), TEXTS_PER_SHARD):
        chunk = texts[start : start + TEXTS_PER_SHARD]
        key = derive_id(texts=[text_id(text) for text in chunk])
        receipt = read_receipt(task.store, folder, key)
        if receipt is None:
            if tower is None:
                # Slow to import and to load, which stored texts save.
                from components.model.text import load_text_tower

                tower = load_text_tower(options.text_model, options.device)
            states = tower.lower_states(chunk)
            rows = [states.row(i)[0].half().numpy() for i in range(len(chunk))]
            table = pa.table(
                {
                    "text_id": [text_id(text) for text in chunk],
                    "text": chunk,
                    "text_tokens": [len(row) for row in rows],
                    "text_states": [row.tobytes() for row in rows],
                },
                schema=arrow_schema(columns),
            )
            receipt = write_file(task.store, folder, key, table)
            progress.add(len(chunk))
        else:
            progress.skip(len(chunk))
        files.append(receipt.file)
    small = [column for column in columns if column not in BLOB_COLUMNS]
    tables = [read_file(task.store, file, small) for file in files]
    key = derive_id(merged=[file.key for file in files])
    merged = write_merged(task.store, folder, key, merge_tables(tables, small))
    group_id = folder.rpartition("/")[2]
    return Group(name=TEXTS, group_id=group_id, columns=columns, policy=policy, shards=files, merged=merged)
