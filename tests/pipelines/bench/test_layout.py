"""Both ways to add a score, and to read scores, hold the same values."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from components.data.shards import read_file, write_file
from components.data.storage import open_store
from pipelines.bench.layout import bench_layout, photo_table, read_sidecars, rewrite, score_table
from pipelines.bench.places import local_folder


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path))


def test_a_rewritten_shard_holds_the_photos_and_the_score(store, tmp_path):
    rng = np.random.default_rng(0)
    score = score_table(rng, 5)
    photos = photo_table(rng, score, 100)
    path = rewrite(store, write_file(store, "images", "0", photos).file, score, "again")
    table = pq.read_table(tmp_path / path)
    assert table.select(["image_id", "image"]).equals(photos)
    assert table.column("laplacian_variance").equals(score.column("laplacian_variance"))


def test_the_merged_file_holds_what_the_score_files_hold(store):
    rng = np.random.default_rng(0)
    tables = [score_table(rng, 3) for _ in range(4)]
    files = [write_file(store, "scores", str(i), table).file for i, table in enumerate(tables)]
    together = read_sidecars(store, files)
    assert together.to_pylist() == [row for table in tables for row in table.to_pylist()]
    assert read_file(store, write_file(store, "scores", "merged", together).file).equals(together)


def test_the_report_has_figures_per_place_and_the_target_on_s3(s3_env, tmp_path):
    from contextlib import nullcontext

    from pipelines.store.server import BUCKET

    places = {"local": local_folder, "S3": lambda: nullcontext(f"s3://{BUCKET}/{tmp_path.name}")}
    report = bench_layout(rows=4, photo_bytes=1000, sidecars=3, rounds=1, places=places)
    names = [figure.name.split(": ") for figure in report.figures]
    assert [name for place, name in names if place == "local"] == [n for place, n in names if place == "S3"]
    assert [(f.name, f.target) for f in report.figures if f.target is not None] == [
        ("S3: write one score beside the shard", 15)
    ]
    assert all(figure.value > 0 for figure in report.figures)
