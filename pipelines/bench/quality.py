"""How fast photos become sharpness scores, against the way most people write it."""

import io
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import cv2
import numpy as np
import pyarrow.parquet as pq
import simplejpeg
from PIL import Image

from components.data.images import decode_grey
from components.data.manifest import DatasetManifest
from components.data.shards import iter_shard, read_file
from components.data.storage import Store, open_store
from components.data.task import Task
from components.quality.blur import laplacian_variance
from components.quality.options import QualityOptions
from components.quality.step import run
from pipelines.bench.figures import Report, conditions, race, ratio
from pipelines.bench.photos import HEIGHT_PX, WIDTH_PX, photo_dataset, photos


def bench_quality(
    rows: int = 64,
    rounds: int = 5,
    workers: int = 2,
    distinct: int = 16,
    width_px: int = WIDTH_PX,
    height_px: int = HEIGHT_PX,
    seed: int = 0,
) -> Report:
    """Rates of the blur pass and the whole step against PIL + float64, all from the same Parquet shard."""
    images = photos(rows, distinct, seed, width_px, height_px)
    told = conditions(photos=rows, kilobytes=round(np.mean([len(i) for i in images]) / 1e3), threads=workers)
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(folder)
        dataset = photo_dataset(store, images, shard_rows=512)
        names = count()
        timings = race(
            {
                "peer": lambda: peer_scores(store, dataset, workers),
                "decode": lambda: bare_decode(images, workers),
                "blur": lambda: blur_scores(store, dataset, workers),
                "blur_1": lambda: blur_scores(store, dataset, 1),
                "step": lambda: step_scores(folder, dataset, workers, f"run{next(names)}"),
            },
            rounds,
        )
    report = Report("quality", conditions=told)
    for label, name in (
        ("PIL + CV_64F", "peer"),
        ("bare grey decode, no Parquet", "decode"),
        ("blur scores", "blur"),
        ("blur scores, 1 thread", "blur_1"),
        ("quality step, 4 scores", "step"),
    ):
        report.add(label, rows / timings[name].wall, "photos/s")
    report.add("blur / PIL + CV_64F", ratio(timings["peer"], timings["blur"]), "x", 2.5)
    report.add("blur / PIL + CV_64F, CPU time", ratio(timings["peer"], timings["blur"], cpu=True), "x")
    report.add("blur / bare grey decode", 100 * ratio(timings["decode"], timings["blur"]), "%", 65)
    used = 100 * ratio(timings["decode"], timings["blur"], cpu=True)
    report.add("blur / bare grey decode, CPU time", used, "%")
    # Near linear: what two threads gain, per thread.
    gain = ratio(timings["blur_1"], timings["blur"])
    report.add(f"blur, {workers} threads / 1", gain, "x", 0.85 * workers)
    report.add("step / PIL + CV_64F", ratio(timings["peer"], timings["step"]), "x")
    report.add("step / PIL + CV_64F, CPU time", ratio(timings["peer"], timings["step"], cpu=True), "x")
    return report


def peer_scores(store: Store, dataset: DatasetManifest, workers: int) -> list[float]:
    """PIL decodes, OpenCV filters in float64, numpy takes the variance; photos in a pool of threads."""

    def score(image: bytes) -> float:
        with Image.open(io.BytesIO(image)) as picture:
            pixels = np.asarray(picture.convert("RGB"))
        return float(cv2.Laplacian(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY), cv2.CV_64F).var())

    filesystem, root = store.filesystem()
    scores: list[float] = []
    with ThreadPoolExecutor(workers) as pool:
        for shard in dataset.groups["images"].shards:
            table = pq.read_table(f"{root}/{shard.path}", filesystem=filesystem, columns=["image"])
            scores += pool.map(score, table.column("image").to_pylist())
    return scores


def bare_decode(images: list[bytes], workers: int) -> list[int]:
    """The luma of photos in memory: no scorer can be faster. Returns the number of pixels of each."""
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda image: simplejpeg.decode_jpeg(image, "GRAY").size, images))


def blur_scores(store: Store, dataset: DatasetManifest, workers: int) -> list[float]:
    """Native-size sharpness alone, read and decoded as the quality step does it."""
    with ThreadPoolExecutor(workers) as pool:
        return list(_blur_scores(store, dataset, pool))


def _blur_scores(store: Store, dataset: DatasetManifest, pool: ThreadPoolExecutor) -> Iterator[float]:
    for index in range(len(dataset.groups["images"].shards)):
        for batch in iter_shard(store, dataset, index, ["image", "ingest_error"]):
            yield from pool.map(
                lambda image: laplacian_variance(decode_grey(image.as_py())), batch.column("image")
            )


def step_scores(data_root: str | Path, dataset: DatasetManifest, workers: int, name: str) -> list[float]:
    """The whole step into a dataset of that name, sharpness read back from what it stored."""
    task = Task(str(data_root), workers=workers)
    scored = run(task, dataset.model_copy(update={"name": name}), options=QualityOptions())
    merged = scored.groups["quality"].merged
    return read_file(task.store, merged, ["laplacian_variance"]).column(0).to_pylist()
