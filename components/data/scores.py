"""The score cache: (key, policy) -> values, for scores that cost seconds or a graphics card.

Segments are only ever appended, under names no other process uses, so writers cannot harm each other and a
kill loses what was scored since the last flush. Rows that failed are not stored: they alone are tried again.
"""

import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from components.data.digest import content_digest
from components.data.identity import derive_id
from components.data.killpoints import killpoint
from components.data.manifest import DataFile, sha256_hex
from components.data.shards import encode_parquet, read_file
from components.data.storage import Store

FLUSH_EVERY_S = 3.0
# Rows of segments kept decoded; segments follow shard order, so a few are enough.
OPEN_SEGMENTS = 8


class ScoreCache:
    """Scores of one step under one policy. Use as a context manager: leaving it flushes.

    `schema` holds the value columns (no key). `policy` says everything that changes a value: model, weights
    hash, dtype, preprocessing; another policy is another cache.
    """

    def __init__(
        self,
        store: Store,
        step: str,
        policy: Mapping[str, Any],
        schema: pa.Schema,
        *,
        flush_every_s: float = FLUSH_EVERY_S,
    ):
        self._store = store
        self.folder = f"scores/{step}/{derive_id(policy=dict(policy))}"
        self._schema = pa.schema([pa.field("key", pa.string()), *schema])
        self._flush_every_s = flush_every_s
        self._pending: dict[str, Mapping[str, Any]] = {}
        self._lock = threading.Lock()
        self._last_flush = time.monotonic()
        self._open: OrderedDict[int, dict[str, list[Any]]] = OrderedDict()
        self._segments = [
            self._file(entry.path, entry.size) for entry in sorted(self._list(), key=lambda e: e.path)
        ]
        self._where: dict[str, tuple[int, int]] = {}
        for index, file in enumerate(self._segments):
            keys = read_file(store, file, ["key"]).column("key").to_pylist()
            for row, key in enumerate(keys):
                self._where.setdefault(key, (index, row))

    def _list(self) -> Iterable[Any]:
        return (entry for entry in self._store.list(self.folder + "/") if entry.path.endswith(".parquet"))

    @staticmethod
    def _file(path: str, size: int) -> DataFile:
        # The row count stands in the name, so that reading can check it without another request.
        rows = int(path.rsplit("-", 1)[1].removesuffix(".parquet"))
        return DataFile(key="", path=path, rows=rows, bytes=size, sha256="", digest="")

    def __len__(self) -> int:
        return len(self._where.keys() | self._pending.keys())

    def __contains__(self, key: str) -> bool:
        return key in self._where or key in self._pending

    def get(self, key: str) -> dict[str, Any] | None:
        """Values under a key, or None when it was never scored under this policy."""
        with self._lock:
            if key in self._pending:
                return dict(self._pending[key])
            if key not in self._where:
                return None
            index, row = self._where[key]
            segment = self._segment(index)
            return {name: segment[name][row] for name in self._schema.names if name != "key"}

    def _segment(self, index: int) -> dict[str, list[Any]]:
        if index not in self._open:
            table = read_file(self._store, self._segments[index])
            self._open[index] = {name: table.column(name).to_pylist() for name in table.column_names}
            while len(self._open) > OPEN_SEGMENTS:
                self._open.popitem(last=False)
        self._open.move_to_end(index)
        return self._open[index]

    def put(self, key: str, values: Mapping[str, Any]) -> None:
        """Add one row's values; written to storage within `flush_every_s` of further puts, or on leaving."""
        with self._lock:
            self._pending[key] = values
            due = time.monotonic() - self._last_flush >= self._flush_every_s
        if due:
            self.flush()

    def flush(self) -> None:
        """Write what is pending as one segment."""
        with self._lock:
            self._last_flush = time.monotonic()
            if not self._pending:
                return
            rows = [{"key": key, **values} for key, values in self._pending.items()]
            table = pa.Table.from_pylist(rows, schema=self._schema)
            data = encode_parquet(table).to_pybytes()
            path = f"{self.folder}/seg-{time.time_ns():020d}-{uuid.uuid4().hex[:8]}-{table.num_rows}.parquet"
            killpoint("cache.before")
            self._store.write(path, data)
            killpoint("cache.after")
            index = len(self._segments)
            self._segments.append(
                DataFile(
                    key="",
                    path=path,
                    rows=table.num_rows,
                    bytes=len(data),
                    sha256=sha256_hex(data),
                    digest=f"{content_digest(table):032x}",
                )
            )
            for row, key in enumerate(self._pending):
                self._where.setdefault(key, (index, row))
            self._pending = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Also on the way out of an error: what was scored so far is kept.
        self.flush()
