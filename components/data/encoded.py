"""An encoded dataset: random access to training samples by row, and to text states by text."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

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

    `index` has INDEX_COLUMNS; row i of every method is row i of `index`. `sample_shape` is (H,W,3).
    `latents_policy` says whose latents, of which `shape` (C,h,w), are stored too; None without. `autoencoder`
    is the folder that encoding found it in.
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
        self.latents_policy: dict[str, Any] | None = self._group.policy.get("latents")
        self.autoencoder = str(manifest.options.get("autoencoder", ""))
        self._files: dict[int, pq.ParquetFile] = {}
        self._open: OrderedDict[tuple[int, int, str], list[bytes]] = OrderedDict()
        self._states: dict[str, np.ndarray] = {}
        self._words: dict[str, str] = {}

    def __len__(self) -> int:
        return self.index.num_rows

    def breed_index(self) -> np.ndarray:
        """(N,) int64 position of each row's breed in `breeds`; `len(breeds)` (the null breed) for none."""
        return breed_positions(self.index.column("breed").to_pylist(), self.breeds)

    def rows_of_split(self, split: str) -> np.ndarray:
        """(n,) rows of train, val or test."""
        return np.flatnonzero(np.asarray(self.index.column("split").to_pylist(), dtype=object) == split)

    def samples(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """(n, H, W, 3) uint8 pictures."""
        data = [self._blob(int(self._shard[row]), int(self._row[row]), "pixels") for row in rows]
        return np.frombuffer(b"".join(data), np.uint8).reshape(len(data), *self.sample_shape)

    def latents(self, rows: Sequence[int] | np.ndarray, *, mirrored: bool = False) -> np.ndarray:
        """(n, C, h, w) float16 latents of the pictures, or of the mirrored ones, where they are stored."""
        assert self.latents_policy is not None, "the dataset was encoded without an autoencoder"
        column = "latents_mirrored" if mirrored else "latents"
        data = [self._blob(int(self._shard[row]), int(self._row[row]), column) for row in rows]
        return np.frombuffer(b"".join(data), np.float16).reshape(len(data), *self.latents_policy["shape"])

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
        self._load_texts()
        return [self._states[key] for key in ids]

    def texts(self, ids: Sequence[str]) -> list[str]:
        """The texts themselves."""
        self._load_texts()
        return [self._words[key] for key in ids]

    def _load_texts(self) -> None:
        if self._states:
            return
        for shard in self._texts.shards:
            columns = ["text_id", "text", "text_tokens", "text_states"]
            for row in read_file(self._store, shard, columns).to_pylist():
                self._words[row["text_id"]] = row["text"]
                states = np.frombuffer(row["text_states"], np.float16)
                self._states[row["text_id"]] = states.reshape(row["text_tokens"], -1)


def breed_positions(breeds: Sequence[str | None], table: Sequence[str]) -> np.ndarray:
    """(N,) int64 positions in `table`; `len(table)`, the null breed, for none or one that is not in it."""
    known = {breed: position for position, breed in enumerate(table)}
    return np.array([known.get(breed or "", len(table)) for breed in breeds], np.int64)
