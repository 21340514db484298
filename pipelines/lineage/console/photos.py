"""Pictures for pages: always decoded and encoded again, never the bytes that a user brought."""

from collections import OrderedDict
from threading import Lock

import numpy as np
import pyarrow.parquet as pq

from components.data.images import ImageError, decode
from components.data.manifest import DataFile, DatasetManifest
from components.data.pictures import png
from components.data.shards import shard_offsets
from components.data.storage import Store
from components.report.thumbnails import thumbnail
from pipelines.lineage.console.catalog import Missing

IMAGES = "images"
SIDES_PX = (160, 900)  # a thumbnail, and a photo to look at
_KEPT_BYTES = 64_000_000  # of JPEGs
_KEPT_GROUP_BYTES = 256_000_000  # of original bytes, in row groups of 100 photos


class Photos:
    """JPEGs of rows of datasets, with the last ones kept. Safe to use from threads."""

    def __init__(self) -> None:
        self._jpegs: OrderedDict[tuple[str, int, int], bytes] = OrderedDict()
        self._bytes = 0
        self._groups: OrderedDict[tuple[str, int], list[bytes | None]] = OrderedDict()
        self._lock, self._reading = Lock(), Lock()

    def jpeg(self, store: Store, dataset: DatasetManifest, row: int, side_px: int) -> bytes:
        """A row's photo, at most `side_px` long. Raises Missing where there is none that can be decoded."""
        key = (dataset.id, row, side_px)
        with self._lock:
            if key in self._jpegs:
                self._jpegs.move_to_end(key)
                return self._jpegs[key]
        original = self._original(store, dataset, row)
        jpeg = thumbnail(original, side_px) if original else b""
        if not jpeg:
            raise Missing(f"Row {row} of {dataset.id} has no picture that can be shown.")
        with self._lock:
            if key not in self._jpegs:
                self._jpegs[key] = jpeg
                self._bytes += len(jpeg)
            while self._bytes > _KEPT_BYTES:
                _, dropped = self._jpegs.popitem(last=False)
                self._bytes -= len(dropped)
        return jpeg

    def _original(self, store: Store, dataset: DatasetManifest, row: int) -> bytes | None:
        shard, inside = place(dataset, row)
        # One after the other: the photos of a page lie in few row groups, and each is read once.
        with self._reading:
            return self._from_row_group(store, shard, inside)

    def _from_row_group(self, store: Store, shard: DataFile, row: int) -> bytes | None:
        for (path, begin), images in self._groups.items():
            if path == shard.path and begin <= row < begin + len(images):
                return images[row - begin]
        filesystem, root = store.filesystem()
        start = 0
        with pq.ParquetFile(f"{root}/{shard.path}", filesystem=filesystem) as file:
            for group in range(file.num_row_groups):
                count = file.metadata.row_group(group).num_rows
                if row < start + count:
                    images = file.read_row_group(group, ["image"]).column(0).to_pylist()
                    self._groups[shard.path, start] = images
                    while len(self._groups) > 1 and self._group_bytes() > _KEPT_GROUP_BYTES:
                        self._groups.popitem(last=False)
                    return images[row - start]
                start += count
        return None

    def _group_bytes(self) -> int:
        return sum(len(image or b"") for images in self._groups.values() for image in images)


def has_photos(dataset: DatasetManifest) -> bool:
    """Whether the rows of a dataset have photos: synthetic ones, and encoded ones, have not."""
    group = dataset.groups.get(IMAGES)
    return group is not None and "image" in group.columns and bool(group.shards)


def place(dataset: DatasetManifest, row: int) -> tuple[DataFile, int]:
    """The shard that holds a row, and the row's number in it. Raises Missing."""
    if not has_photos(dataset) or not 0 <= row < dataset.rows:
        raise Missing(f"Dataset {dataset.id} has no photo of row {row}.")
    starts = np.array([start for start, _ in shard_offsets(dataset)])
    index = int(np.searchsorted(starts, row, side="right")) - 1
    return dataset.groups[IMAGES].shards[index], int(row - starts[index])


def picture(data: bytes) -> bytes:
    """A grid of pictures that a step wrote, as a new PNG. Raises Missing for what is no picture."""
    try:
        return png(decode(data))
    except ImageError as error:
        raise Missing(f"This file cannot be shown as a picture: {error}") from None
