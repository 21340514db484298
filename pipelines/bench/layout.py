"""What column groups buy: one new score beside the photos, or the photos written again with it."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa

from components.data.manifest import DataFile
from components.data.schema import arrow_schema
from components.data.shards import encode_parquet, merge_tables, read_file, write_file
from components.data.storage import Store, open_store
from pipelines.bench.figures import Report, conditions, race, ratio
from pipelines.bench.places import PLACES

SCORES = ["image_id", "laplacian_variance"]
SIDECAR_TARGET_MS = 15


def bench_layout(
    rows: int = 256,
    photo_bytes: int = 378_000,
    sidecars: int = 20,
    rounds: int = 5,
    seed: int = 0,
    places: Mapping[str, Any] = PLACES,
) -> Report:
    """Both ways to add a score to one shard, and both ways to read the scores of `sidecars` shards."""
    report = Report("layout", conditions=conditions(rows=rows, megabytes=round(rows * photo_bytes / 1e6, 1)))
    for place, opened in places.items():
        _bench_place(report, place, opened(), rows, photo_bytes, sidecars, rounds, seed)
    return report


def _bench_place(
    report: Report,
    place: str,
    opened: AbstractContextManager[str],
    rows: int,
    photo_bytes: int,
    sidecars: int,
    rounds: int,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    score = score_table(rng, rows)
    with opened as uri:
        store, names = open_store(uri), count()
        photos = write_file(store, "images", "0", photo_table(rng, score, photo_bytes)).file
        shards = [write_file(store, "scores", f"{i:03d}", score_table(rng, rows)) for i in range(sidecars)]
        files = [receipt.file for receipt in shards]
        merged = write_file(store, "scores", "merged", read_sidecars(store, files)).file
        timings = race(
            {
                "rewrite": lambda: rewrite(store, photos, score, "rewritten"),
                "sidecar": lambda: write_file(store, "sidecar", f"{next(names)}", score),
                "sidecars": lambda: read_sidecars(store, files),
                "merged": lambda: read_file(store, merged),
            },
            rounds,
        )
    target = SIDECAR_TARGET_MS if place == "S3" else None
    report.add(
        f"{place}: write one score beside the shard", 1e3 * timings["sidecar"].wall, "ms", target, False
    )
    report.add(f"{place}: fastest of {rounds}", 1e3 * min(timings["sidecar"].wall_s), "ms")
    report.add(f"{place}: write the shard again with it", 1e3 * timings["rewrite"].wall, "ms")
    report.add(f"{place}: beside / again", ratio(timings["rewrite"], timings["sidecar"]), "x")
    report.add(f"{place}: read {sidecars} score files", 1e3 * timings["sidecars"].wall, "ms")
    report.add(f"{place}: read the merged file", 1e3 * timings["merged"].wall, "ms")
    report.add(f"{place}: merged / {sidecars} files", ratio(timings["sidecars"], timings["merged"]), "x")


def score_table(rng: np.random.Generator, rows: int) -> pa.Table:
    """image_id and one score."""
    values = {
        "image_id": [rng.bytes(16).hex() for _ in range(rows)],
        "laplacian_variance": rng.gamma(2, 150, rows).astype(np.float32),
    }
    return pa.table(values, schema=arrow_schema(SCORES))


def photo_table(rng: np.random.Generator, score: pa.Table, photo_bytes: int) -> pa.Table:
    """Bytes as heavy and as incompressible as photos, for the rows of a score table."""
    values = {
        "image_id": score.column("image_id"),
        "image": [rng.bytes(photo_bytes) for _ in range(len(score))],
    }
    return pa.table(values, schema=arrow_schema(["image_id", "image"]))


def rewrite(store: Store, photos: DataFile, score: pa.Table, name: str) -> str:
    """Read the shard, append the score, write it all; returns where to."""
    table = read_file(store, photos).append_column("laplacian_variance", score.column("laplacian_variance"))
    path = f"{name}.parquet"
    store.write(path, encode_parquet(table).to_pybytes())
    return path


def read_sidecars(store: Store, files: list[DataFile]) -> pa.Table:
    """The scores of all shards, file by file."""
    return merge_tables([read_file(store, file) for file in files], SCORES)
