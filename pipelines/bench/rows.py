"""A synthetic dataset of a million scored rows, without photos, as selection finds it."""

import numpy as np
import pyarrow as pa

from components.data.manifest import DatasetManifest, Group
from components.data.schema import COLUMNS, arrow_schema
from components.data.shards import MERGED_ROW_GROUP_ROWS, write_file
from components.data.storage import Store

BREEDS = [f"breed_{index}" for index in range(120)]


def scored_rows(rows: int, seed: int = 0) -> pa.Table:
    """Every column the strict selection reads. Each rule fails a few to 65% of the rows, 10% pass all."""
    rng = np.random.default_rng(seed)

    def texts(values: list[str], index: np.ndarray) -> pa.Array:
        return pa.array([*values, None], pa.string()).take(pa.array(index))

    columns: dict[str, object] = {name: pa.nulls(rows, pa.string()) for name in _NULL}
    columns |= {
        "image_id": _hex_ids(rng, rows),
        "width_px": rng.integers(900, 3000, rows, np.int32),
        "height_px": rng.integers(900, 3000, rows, np.int32),
        "breed": texts(BREEDS, rng.integers(0, len(BREEDS), rows)),
        "reviewed": rng.random(rows) < 0.1,
        "source": texts(["club", "shelter"], rng.integers(0, 2, rows)),
        "license": texts(["CC-BY-4.0", "CC0-1.0"], rng.integers(0, 3, rows)),
        "caption_words": rng.integers(5, 40, rows, np.int32),
        "caption_vague": rng.random(rows) < 0.05,
        "caption_truncated": rng.random(rows) < 0.01,
        "laplacian_variance": rng.gamma(2, 150, rows).astype(np.float32),
        "color_shift": rng.random(rows, np.float32) * np.float32(0.5),
        "duplicate_kind": texts(
            ["near", "exact"], np.where(rng.random(rows) < 0.04, rng.integers(0, 2, rows), 2)
        ),
        "split": texts(["train", "val", "test"], rng.choice(3, rows, p=[0.9, 0.05, 0.05])),
        "clip_similarity": rng.normal(0.3, 0.03, rows).astype(np.float32),
        "breed_confidence": rng.random(rows, np.float32),
        "foreground_ratio": rng.random(rows, np.float32),
    }
    return pa.table(
        {name: columns[name] for name in COLUMNS if name in columns},
        schema=arrow_schema([name for name in COLUMNS if name in columns]),
    )


_NULL = (
    "ingest_error",
    "captions_error",
    "quality_error",
    "similarity_skipped_by",
    "similarity_error",
    "foreground_skipped_by",
    "foreground_error",
)


def scored_dataset(store: Store, table: pa.Table) -> DatasetManifest:
    """Store the rows as the merged files of their steps' groups; the manifest itself is not stored."""
    groups = {}
    for step in dict.fromkeys(COLUMNS[name].step for name in table.column_names):
        names = ["image_id", *(n for n in table.column_names if COLUMNS[n].step == step and n != "image_id")]
        receipt = write_file(
            store, f"bench/{step}/1", "merged", table.select(names), row_group_rows=MERGED_ROW_GROUP_ROWS
        )
        name = "images" if step == "ingest" else step
        groups[name] = Group(name=name, group_id="1", columns=names, merged=receipt.file)
    return DatasetManifest(
        name="bench",
        id="1",
        step="foreground",
        parents=[],
        code_version="",
        options={},
        rows=table.num_rows,
        groups=groups,
    )


def _hex_ids(rng: np.random.Generator, rows: int) -> pa.Array:
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)[rng.integers(0, 16, 32 * rows, np.uint8)]
    offsets = np.arange(rows + 1, dtype=np.int32) * 32
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(digits))
