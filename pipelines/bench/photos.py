"""Synthetic photos of the usual size and weight, and a dataset of them."""

import hashlib

import cv2
import numpy as np
import pyarrow as pa
import simplejpeg

from components.data.manifest import DatasetManifest, Group
from components.data.schema import arrow_schema
from components.data.shards import merge_tables, write_file, write_merged
from components.data.storage import Store

WIDTH_PX, HEIGHT_PX, QUALITY = 1600, 1200, 90
# Amplitude (grey levels) of smooth colour at so many cells across: a scene, its parts, their texture.
_LAYERS = ((6, 60.0), (40, 30.0), (200, 14.0))
_GRAIN = 2.0  # sensor noise; sets the file's size, about 380 KB
_COLUMNS = ["image_id", "image", "ingest_error"]


def photo(rng: np.random.Generator, width_px: int = WIDTH_PX, height_px: int = HEIGHT_PX) -> bytes:
    """A JPEG (quality 90, 4:2:0) of smooth colours and grain."""
    scene = np.full((height_px, width_px, 3), 128, np.float32)
    for cells, amplitude in _LAYERS:
        coarse = rng.standard_normal((height_px * cells // width_px + 2, cells + 2, 3), np.float32)
        scene += amplitude * cv2.resize(coarse, (width_px, height_px), interpolation=cv2.INTER_CUBIC)
    scene += _GRAIN * rng.standard_normal((height_px, width_px, 1), np.float32)
    pixels = np.clip(scene, 0, 255).astype(np.uint8)
    return simplejpeg.encode_jpeg(pixels, quality=QUALITY, colorspace="RGB", colorsubsampling="420")


def photos(count: int, distinct: int, seed: int, width_px: int, height_px: int) -> list[bytes]:
    """`count` photos of which `distinct` differ, in turn: drawing one takes longer than scoring it."""
    rng = np.random.default_rng(seed)
    drawn = [photo(rng, width_px, height_px) for _ in range(min(count, distinct))]
    return [drawn[i % len(drawn)] for i in range(count)]


def photo_dataset(store: Store, images: list[bytes], shard_rows: int) -> DatasetManifest:
    """Ingested photos as the quality step finds them; the manifest itself is not stored."""
    shards, tables = [], []
    for start in range(0, len(images), shard_rows):
        part = images[start : start + shard_rows]
        ids = [hashlib.sha256(image).hexdigest()[:32] for image in part]
        values = {"image_id": ids, "image": part, "ingest_error": [None] * len(part)}
        table = pa.table(values, schema=arrow_schema(_COLUMNS))
        shards.append(write_file(store, "bench/images/1", f"{start:06d}", table).file)
        tables.append(table)
    merged = write_merged(store, "bench/images/1", "merged", merge_tables(tables, _COLUMNS))
    group = Group(name="images", group_id="1", columns=_COLUMNS, shards=shards, merged=merged)
    return DatasetManifest(
        name="bench",
        id="1",
        step="ingest",
        parents=[],
        code_version="",
        options={},
        rows=len(images),
        groups={"images": group},
    )
