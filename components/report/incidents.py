"""Rows that need a look: errors by message, and clusters of duplicates."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_ERROR = "_error"


@dataclass(frozen=True)
class ErrorKind:
    """Rows of one step with the same message. example: source_uri (or image_id) of the first of them."""

    step: str
    message: str
    rows: int
    example: str


@dataclass(frozen=True)
class DuplicateCluster:
    """A kept photo (image id) and the rows that repeat it (row indices), of `total` in all."""

    original: str
    copies: tuple[int, ...]
    total: int


def error_kinds(rows: pa.Table, limit: int) -> tuple[list[ErrorKind], int]:
    """The most frequent errors over all `*_error` columns, and the number of rows in all the others."""
    kinds = []
    label = rows.column("source_uri" if "source_uri" in rows.column_names else "image_id")
    for name in rows.column_names:
        if not name.endswith(_ERROR) or rows.column(name).null_count == rows.num_rows:
            continue
        table = pa.table({"message": rows.column(name), "row": np.arange(rows.num_rows)})
        grouped = table.filter(pc.is_valid(table["message"])).group_by("message")
        counted = grouped.aggregate([("row", "count"), ("row", "min")])
        for item in counted.to_pylist():
            example = label[item["row_min"]].as_py() or ""
            kinds.append(ErrorKind(name.removesuffix(_ERROR), item["message"], item["row_count"], example))
    kinds.sort(key=lambda kind: (-kind.rows, kind.step, kind.message))
    return kinds[:limit], sum(kind.rows for kind in kinds[limit:])


def duplicate_clusters(rows: pa.Table, clusters: int, copies: int) -> list[DuplicateCluster]:
    """The largest clusters of duplicates; within one, the first `copies` rows."""
    if "duplicate_of" not in rows.column_names:
        return []
    table = pa.table({"original": rows.column("duplicate_of"), "row": np.arange(rows.num_rows)})
    table = table.filter(pc.is_valid(table["original"]))
    counted = table.group_by("original").aggregate([("row", "count"), ("row", "min")])
    counted = counted.sort_by([("row_count", "descending"), ("row_min", "ascending")])
    found = []
    for item in counted.slice(0, clusters).to_pylist():
        members = table.filter(pc.equal(table["original"], item["original"]))["row"]
        found.append(
            DuplicateCluster(item["original"], tuple(members.slice(0, copies).to_pylist()), item["row_count"])
        )
    return found
