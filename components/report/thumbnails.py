"""Small JPEGs of a few hundred photos of a dataset, wherever its shards lie."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import simplejpeg

from components.data.images import ImageError, decode_reduced, read_header
from components.data.manifest import DataFile, DatasetManifest
from components.data.shards import shard_offsets
from components.data.storage import Store

JPEG_QUALITY = 82
# pyarrow reads a row group (100 photos) as a whole; each thread holds one.
_MAX_THREADS = 4


def thumbnails(
    store: Store,
    dataset: DatasetManifest,
    image_ids: pa.ChunkedArray,
    wanted: Iterable[str],
    long_side_px: int,
    workers: int,
) -> dict[str, bytes]:
    """JPEG by image id; ids that are not there and pictures that cannot be decoded are left out.

    `image_ids` are those of all rows, in row order. Reads only the row groups with wanted photos.
    """
    places = locate(dataset, image_ids, list(wanted))

    def shard_thumbnails(item: tuple[int, dict[int, str]]) -> dict[str, bytes]:
        index, rows = item
        found = {}
        for row, image in read_images(store, dataset.groups["images"].shards[index], sorted(rows)):
            small = thumbnail(image, long_side_px)
            if small:
                found[rows[row]] = small
        return found

    with ThreadPoolExecutor(max(1, min(workers, _MAX_THREADS))) as pool:
        parts = list(pool.map(shard_thumbnails, places.items()))
    return {image_id: data for part in parts for image_id, data in part.items()}


def locate(
    dataset: DatasetManifest, image_ids: pa.ChunkedArray, wanted: Sequence[str]
) -> dict[int, dict[int, str]]:
    """By shard: row within the shard -> image id, at the first row of each wanted id."""
    rows = pc.index_in(pa.array(wanted, pa.string()), value_set=image_ids.combine_chunks()).to_pylist()
    starts = np.array([start for start, _ in shard_offsets(dataset)])
    places: dict[int, dict[int, str]] = {}
    for row, image_id in zip(rows, wanted, strict=True):
        if row is not None:
            shard = int(np.searchsorted(starts, row, side="right")) - 1
            places.setdefault(shard, {})[int(row - starts[shard])] = image_id
    return places


def read_images(store: Store, file: DataFile, rows: Sequence[int]) -> Iterable[tuple[int, bytes]]:
    """(row, original bytes) of the given rows of one shard, in rising order; null bytes are left out."""
    filesystem, root = store.filesystem()
    with pq.ParquetFile(f"{root}/{file.path}", filesystem=filesystem) as shard:
        counts = [shard.metadata.row_group(i).num_rows for i in range(shard.num_row_groups)]
        for group, (end, count) in enumerate(zip(accumulate(counts), counts, strict=True)):
            mine = [row for row in rows if end - count <= row < end]
            if not mine:
                continue
            column = shard.read_row_group(group, ["image"]).column(0)
            for row in mine:
                image = column[row - (end - count)].as_py()
                if image:
                    yield row, image


def thumbnail(image: bytes, long_side_px: int) -> bytes:
    """JPEG of at most `long_side_px` on its long side, upright; b"" for what cannot be decoded."""
    try:
        header = read_header(image)
        scale = min(1.0, long_side_px / max(header.width_px, header.height_px))
        size = tuple(max(1, round(side * scale)) for side in (header.width_px, header.height_px))
        pixels = decode_reduced(image, min(size))
    except ImageError:
        return b""
    if pixels.shape[:2] != size[::-1]:
        pixels = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)
    return simplejpeg.encode_jpeg(np.ascontiguousarray(pixels), quality=JPEG_QUALITY, colorsubsampling="420")
