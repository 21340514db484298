"""Find exact and near duplicates over the whole set, and split it so that no group is torn apart."""

from typing import Any

import numpy as np
import pyarrow as pa

from components.data.manifest import DatasetManifest
from components.data.shards import read_table
from components.data.task import Task, add_whole_group
from components.duplicates.groups import duplicate_labels, duplicates_of, group_ids
from components.duplicates.options import DuplicatesOptions
from components.duplicates.split import check_fractions, split_of

INPUTS = ("dataset",)
COLUMNS = ["duplicate_of", "duplicate_kind", "group_id", "split"]
READS = [
    "image_id",
    "source_uri",
    "width_px",
    "height_px",
    "clip_key",
    "phash",
    "ingest_error",
    "quality_error",
]


def run(task: Task, dataset: DatasetManifest, *, options: DuplicatesOptions) -> DatasetManifest:
    """Compare all photos with each other. Files that cannot be decoded are nobody's duplicate.

    Raises ValueError when the fractions leave nothing to train on.
    """
    check_fractions(options.val_fraction, options.test_fraction)
    return add_whole_group(
        task,
        dataset,
        step="duplicates",
        options=options,
        columns=COLUMNS,
        compute=lambda: _compute(read_table(task.store, dataset, READS), options),
        count=count,
    )


def _compute(table: pa.Table, options: DuplicatesOptions) -> dict[str, Any]:
    ids: list[str] = table.column("image_id").to_pylist()
    bad = np.asarray(table.column("ingest_error").is_valid()) | np.asarray(
        table.column("quality_error").is_valid()
    )
    # An unreadable file may share its (empty) bytes with others, which makes it nobody's duplicate.
    comparable = ["" if broken else image_id for image_id, broken in zip(ids, bad, strict=True)]
    hashes = np.asarray(table.column("phash").fill_null(0))
    area = np.asarray(table.column("width_px").cast(pa.int64()).fill_null(0)) * np.asarray(
        table.column("height_px").cast(pa.int64()).fill_null(0)
    )
    labels = duplicate_labels(comparable, hashes, ~bad & (hashes != 0), options.near_distance)
    kept = duplicates_of(labels, ids, table.column("source_uri").to_pylist(), area)
    groups = group_ids(labels, ids, table.column("clip_key").to_pylist())
    return {
        "image_id": table.column("image_id"),
        "duplicate_of": [keeper or None for keeper in kept],
        "duplicate_kind": [
            None if not keeper else "exact" if keeper == image_id else "near"
            for keeper, image_id in zip(kept, ids, strict=True)
        ],
        "group_id": groups,
        "split": [
            split_of(group, val_fraction=options.val_fraction, test_fraction=options.test_fraction)
            for group in groups
        ],
    }


def count(table: pa.Table) -> dict[str, int]:
    """Counters: duplicates by kind, groups, photos by split."""
    counted = {"groups": len(set(table.column("group_id").to_pylist()))}
    for name, prefix in (("duplicate_kind", "duplicate_"), ("split", "split_")):
        for item in table.column(name).drop_null().value_counts().to_pylist():
            counted[prefix + item["values"]] = item["counts"]
    return counted
