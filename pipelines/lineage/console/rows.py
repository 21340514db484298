"""Rows of a dataset, filtered on any of its columns, a page at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.data.manifest import DatasetManifest
from components.data.schema import COLUMNS
from components.data.storage import Store
from pipelines.lineage.console.columns import Columns, small_columns
from pipelines.lineage.console.photos import has_photos

PAGE_ROWS = 48
MAX_FILTERS = 12
# Shown under every photo where the dataset has them.
_SHOWN = ("image_id", "caption", "breed", "source_uri", "keep", "reasons", "tier")


class FilterError(ValueError):
    """A filter that means nothing; the message names the column and the fix."""


@dataclass(frozen=True)
class Filter:
    """One condition. `operator` is one of OPERATORS; `value` is as typed, "" where none is needed."""

    column: str
    operator: str
    value: str = ""


@dataclass(frozen=True)
class RowPage:
    """One page of rows. `number` counts from 1; `rows` are values by column with `row`, the row's number."""

    total: int
    number: int
    pages: int
    rows: list[dict[str, Any]]


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_string(column.type):
        return column
    if pa.types.is_fixed_size_list(column.type):
        raise FilterError("is a list of numbers: it can only be filtered by `is empty` and `is not empty`")
    if pa.types.is_list(column.type):
        return pc.binary_join(pc.fill_null(column, pa.scalar([], column.type)), ", ")
    return column.cast(pa.string())


def _number(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        raise FilterError(f"is compared with {value[:80]!r}, which is no number") from None
    if not np.isfinite(number):
        raise FilterError("is compared with a number that is not finite")
    return number


def _numeric(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise FilterError("holds no numbers: use `is`, `is not` or `contains`")
    return column.cast(pa.float64(), safe=False)


def _is(column: pa.ChunkedArray, value: str) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_boolean(kind):
        flags = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if value.strip().lower() not in flags:
            raise FilterError(f"is true or false, not {value[:80]!r}")
        return pc.equal(column, flags[value.strip().lower()])
    if pa.types.is_integer(kind):
        # uint64 hashes do not fit a float.
        return pc.equal(column.cast(pa.string()), value.strip())
    if pa.types.is_floating(kind):
        return pc.equal(column, pa.scalar(_number(value), kind))
    if pa.types.is_list(kind):
        joined = pc.binary_join(pc.fill_null(column, pa.scalar([], kind)), "\n")
        return pc.match_substring(_framed(joined), f"\n{value}\n")
    return pc.equal(_text(column), value)


def _framed(joined: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.binary_join_element_wise("\n", joined, "\n", "")


_OPERATIONS: dict[str, Callable[[pa.ChunkedArray, str], pa.ChunkedArray]] = {
    "is": _is,
    "is not": lambda column, value: pc.invert(pc.fill_null(_is(column, value), False)),
    "contains": lambda column, value: pc.match_substring(_text(column), value, ignore_case=True),
    "at least": lambda column, value: pc.greater_equal(_numeric(column), _number(value)),
    "at most": lambda column, value: pc.less_equal(_numeric(column), _number(value)),
    "is empty": lambda column, value: pc.is_null(column, nan_is_null=pa.types.is_floating(column.type)),
    "is not empty": lambda column, value: pc.invert(
        pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
    ),
}
OPERATORS = tuple(_OPERATIONS)


def matching(
    columns: Columns, store: Store, dataset: DatasetManifest, filters: Sequence[Filter]
) -> np.ndarray:
    """Numbers of the rows that pass every filter, rising. Raises FilterError."""
    passed = np.ones(dataset.rows, bool)
    if len(filters) > MAX_FILTERS:
        raise FilterError(f"At most {MAX_FILTERS} filters can be combined.")
    for item in filters:
        if item.column not in small_columns(dataset):
            raise FilterError(f"There is no column {item.column[:80]!r} to filter by in this dataset.")
        if item.operator not in _OPERATIONS:
            raise FilterError(f"{item.operator[:80]!r} is none of {', '.join(OPERATORS)}.")
        column = columns.table(store, dataset, [item.column]).column(0)
        try:
            mask = _OPERATIONS[item.operator](column, item.value)
        except FilterError as error:
            raise FilterError(f"The column {item.column} {error}.") from None
        passed &= pc.fill_null(mask, False).to_numpy()
    return np.flatnonzero(passed)


def row_page(
    columns: Columns,
    store: Store,
    dataset: DatasetManifest,
    filters: Sequence[Filter],
    page: int,
) -> RowPage:
    """One page of the rows that pass, with the columns of the filters beside the usual ones."""
    rows = matching(columns, store, dataset, filters)
    pages = max(1, -(-len(rows) // PAGE_ROWS))
    number = min(max(page, 1), pages)
    some = rows[(number - 1) * PAGE_ROWS : number * PAGE_ROWS]
    extra = [item.column for item in filters]
    return RowPage(len(rows), number, pages, shown_rows(columns, store, dataset, some, extra))


def shown_rows(
    columns: Columns,
    store: Store,
    dataset: DatasetManifest,
    rows: np.ndarray,
    extra: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Values of the given rows by column: those shown under every photo, and `extra` ones.

    `row` is the row's number, `photo` whether there may be a picture of it; what the dataset lacks is None.
    """
    names = [name for name in dict.fromkeys([*_SHOWN, *extra]) if name in small_columns(dataset)]
    table = columns.table(store, dataset, names).take(pa.array(rows))
    empty: dict[str, Any] = dict.fromkeys(_SHOWN)
    photo = has_photos(dataset)
    return [
        {**empty, **values, "row": int(row), "photo": photo}
        for row, values in zip(rows, table.to_pylist(), strict=True)
    ]


def column_help(dataset: DatasetManifest) -> dict[str, str]:
    """What each column means that can be filtered."""
    return {name: COLUMNS[name].help if name in COLUMNS else "" for name in small_columns(dataset)}
