"""Small columns of datasets in memory, read from the merged files when they are first looked at."""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import pyarrow as pa

from components.data.manifest import DatasetManifest
from components.data.schema import BLOB_COLUMNS
from components.data.shards import read_table
from components.data.storage import Store

_KEPT_BYTES = 2_000_000_000


class Columns:
    """Keeps columns by the file they lie in, which datasets share. Safe to use from threads."""

    def __init__(self) -> None:
        self._columns: OrderedDict[tuple[str, str, str], pa.ChunkedArray] = OrderedDict()
        self._lock = Lock()

    def table(self, store: Store, dataset: DatasetManifest, names: Sequence[str]) -> pa.Table:
        """The named small columns of all rows, in row order. Raises ManifestError for an absent one."""
        keys = {name: (store.uri, dataset.group_of(name).merged.path, name) for name in names}
        with self._lock:
            missing = [name for name, key in keys.items() if key not in self._columns]
            if missing:
                read = read_table(store, dataset, missing)
                # Arrow joins the chunks of text and lists at every `take`; done here, it is done once.
                self._columns.update((keys[name], _joined(read.column(name))) for name in missing)
            for key in keys.values():
                self._columns.move_to_end(key)
            table = pa.table({name: self._columns[keys[name]] for name in names})
            while (
                len(self._columns) > len(keys) and sum(c.nbytes for c in self._columns.values()) > _KEPT_BYTES
            ):
                self._columns.popitem(last=False)
        return table


def _joined(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([column.combine_chunks()], column.type)


def small_columns(dataset: DatasetManifest) -> list[str]:
    """The columns that can be filtered and shown: all but the blobs, and those of distinct texts."""
    # An encoded dataset also has a group with a row for each text.
    names = [
        name
        for group in dataset.groups.values()
        if group.merged.rows == dataset.rows
        for name in group.columns
    ]
    return [name for name in dict.fromkeys(names) if name not in BLOB_COLUMNS]
