"""An encoded dataset: random access to training samples by row, and to text states by text."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from components.data.manifest import DatasetManifest
from components.data.shards import ROW_GROUP_ROWS, read_file, read_table
from components.data.storage import Store

SAMPLES, TEXTS = "samples", "texts"
INDEX_COLUMNS = ["image_id", "breed", "tier", "split", "caption_id", "prompt_id"]
# Decoded row groups kept: shuffled access touches many, and one holds at most 100 samples.
OPEN_ROW_GROUPS = 256


def text_id(text: str) -> str:
    """Id of a text: the first 16 hex digits of its sha256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


EMPTY_TEXT_ID = text_id("")


class EncodedDataset:
    """Rows of an encoded dataset in an order that depends only on their ids, not on how shards were cut.

    `index` has INDEX_COLUMNS; row i of every method is row i of `index`. `sample_shape` is (H,W,3) for pixels
    and (C,h,w) for latents.
    """

    def __init__(self, store: Store, manifest: DatasetManifest):
        self._store = store
        self._group = manifest.groups[SAMPLES]
        self._texts = manifest.groups[TEXTS]
        table = read_table(store, manifest, INDEX_COLUMNS)
        position = np.arange(table.num_rows)
        order = np.lexsort((position, np.asarray(table.column("image_id").to_pylist(), dtype=object)))
        self.index: pa.Table = table.take(pa.array(order))
        starts = np.cumsum([0, *(shard.rows for shard in self._group.shards)])
        self._shard = np.searchsorted(starts, order, side="right") - 1
        self._row = order - starts[self._shard]
        self.breeds: list[str] = list(self._group.policy["breeds"])
        self.sample_shape: tuple[int, ...] = tuple(self._group.policy["shape"])
        self.is_latent: bool = self._group.policy["space"] == "latents"
        self._files: dict[int, pq.ParquetFile] = {}
        self._open: OrderedDict[tuple[int, int, str], list[bytes]] = OrderedDict()
        self._states: dict[str, np.ndarray] | None = None

    def __len__(self) -> int:
        return self.index.num_rows

    def breed_index(self) -> np.ndarray:
        """(N,) int64 position of each row's breed in `breeds`; `len(breeds)` (the null breed) for none."""
        known = {breed: position for position, breed in enumerate(self.breeds)}
        return np.array([known.get(breed, len(known)) for breed in self.index.column("breed").to_pylist()], int)

    def rows_of_split(self, split: str) -> np.ndarray:
        """(n,) rows of train, val or test."""
        return np.flatnonzero(np.asarray(self.index.column("split").to_pylist(), dtype=object) == split)

    def samples(self, rows: Sequence[int] | np.ndarray, *, flipped: bool = False) -> np.ndarray:
        """(n, *sample_shape): uint8 pixels, or float16 latents (of the mirrored pictures if `flipped`)."""
        column = "pixels" if not self.is_latent else "latents_flipped" if flipped else "latents"
        dtype = np.float16 if self.is_latent else np.uint8
        data = [self._blob(int(self._shard[row]), int(self._row[row]), column) for row in rows]
        out = np.frombuffer(b"".join(data), dtype).reshape(len(data), *self.sample_shape)
        return out[:, :, ::-1] if flipped and not self.is_latent else out

    def _blob(self, shard: int, row: int, column: str) -> bytes:
        group, offset = divmod(row, ROW_GROUP_ROWS)
        key = (shard, group, column)
        if key not in self._open:
            if shard not in self._files:
                filesystem, root = self._store.filesystem()
                self._files[shard] = pq.ParquetFile(
                    f"{root}/{self._group.shards[shard].path}", filesystem=filesystem
                )
            self._open[key] = self._files[shard].read_row_group(group, [column]).column(0).to_pylist()
            while len(self._open) > OPEN_ROW_GROUPS:
                self._open.popitem(last=False)
        self._open.move_to_end(key)
        return self._open[key][offset]

    def text_states(self, ids: Sequence[str]) -> list[np.ndarray]:
        """Per text id its (tokens, width) float16 states; KeyError for a text that was not encoded."""
        if self._states is None:
            width = int(self._texts.policy["width"])
            self._states = {}
            for shard in self._texts.shards:
                table = read_file(self._store, shard, ["text_id", "text_states"])
                for key, data in zip(*(table.column(i).to_pylist() for i in range(2)), strict=True):
                    self._states[key] = np.frombuffer(data, np.float16).reshape(-1, width)
        return [self._states[key] for key in ids]
