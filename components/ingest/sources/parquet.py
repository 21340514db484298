"""Parquet files whose rows are pictures: Hugging Face's image struct {bytes, path}, or a binary column.

Pictures are streamed in small batches, so a row group of any size costs the memory of one batch. A row
whose bytes are null and whose path names a file of the source is read from there: Hugging Face writes such
sets, too.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from components.ingest.sources.detection import PARQUET_SUFFIXES
from components.ingest.sources.fields import as_text, find_roles, item_of, safe_relpath
from components.ingest.sources.parquet_rows import (
    TEXT_BATCH_ROWS,
    class_names,
    first_line,
    open_parquet,
    text_columns,
)
from components.ingest.sources.record import Declared, KindOptions, SourceError, SourceItem
from components.ingest.sources.tree import MAX_FILE_BYTES, FileTree, extension, is_hidden

PICTURE_COLUMNS = str.split("image img picture photo jpg jpeg png webp image_bytes bytes image_data content")
PICTURE_BATCH_ROWS = 32
ARROW_FAULTS = (pa.ArrowException, OSError, ValueError)


@dataclass(frozen=True)
class PictureColumn:
    """Where the pictures are: column paths of their bytes (`blob`) and file name (`path`, may be "")."""

    column: str
    blob: str
    path: str


def picture_column(schema: pa.Schema, relpath: str) -> PictureColumn:
    """Find the pictures of a schema, by type, then by name. Raises SourceError for none or several."""
    found = []
    for field in schema:
        if is_binary(field.type):
            found.append(PictureColumn(field.name, field.name, ""))
        elif pa.types.is_struct(field.type):
            parts = {part.name: part.type for part in field.type}
            if "bytes" in parts and is_binary(parts["bytes"]):
                path = f"{field.name}.path" if "path" in parts else ""
                found.append(PictureColumn(field.name, f"{field.name}.bytes", path))
    ranked = sorted(found, key=lambda one: _rank(one.column))
    if not ranked:
        raise SourceError(
            f"{relpath} has no pictures: looked for a binary column or a struct with bytes and path among "
            f"{', '.join(schema.names)}."
        )
    if len(ranked) > 1 and _rank(ranked[0].column) == _rank(ranked[1].column):
        names = ", ".join(one.column for one in ranked)
        raise SourceError(
            f"{relpath} has several binary columns: {names}. Rename the pictures' one to image."
        )
    return ranked[0]


def is_binary(kind: pa.DataType) -> bool:
    """Tell whether a type holds bytes of any length."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def _rank(name: str) -> int:
    plain = name.casefold()
    return PICTURE_COLUMNS.index(plain) if plain in PICTURE_COLUMNS else len(PICTURE_COLUMNS)


class ParquetRows:
    """Pictures in Parquet rows."""

    def __init__(self, tree: FileTree, declared: Declared) -> None:
        self.tree, self.declared = tree, declared
        self.ignored: Counter[str] = Counter()
        self.sidecars: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._cursor: _Cursor | None = None

    def items(self) -> Iterator[SourceItem]:
        """Yield the rows of all files, file by file."""
        self.ignored.clear()
        for entry in self.tree.walk():
            relpath = entry.relpath
            if not relpath.lower().endswith(PARQUET_SUFFIXES) or is_hidden(relpath):
                self.ignored[extension(relpath)] += 1
                continue
            if entry.fault:
                yield self.declared.complete(SourceItem(relpath, problem=f"{relpath} {entry.fault}"))
                continue
            for item in self._file_items(relpath):
                yield self.declared.complete(item)

    def _file_items(self, relpath: str) -> Iterator[SourceItem]:
        row = 0
        try:
            with open_parquet(self.tree, relpath) as file:
                schema = file.schema_arrow
                picture = picture_column(schema, relpath)
                texts, labels = text_columns(schema), class_names(schema)
                # Of the struct only the path is read: its bytes are the size of the whole set.
                columns = [*texts, picture.path] if picture.path else texts
                roles = {role: column for role, column in find_roles(texts).items() if role != "file"}
                for batch in file.iter_batches(TEXT_BATCH_ROWS, columns=columns, use_threads=False):
                    for record in batch.to_pylist():
                        values = {
                            role: _value(record[name], labels.get(name)) for role, name in roles.items()
                        }
                        yield item_of(row_name(relpath, row), values, _failure(record))
                        row += 1
        except SourceError as error:
            yield SourceItem(relpath, problem=str(error))
        except ARROW_FAULTS as error:
            yield SourceItem(relpath, problem=f"{relpath} is damaged after row {row}: {first_line(error)}")

    def read(self, items: Sequence[SourceItem]) -> Iterator[bytes | SourceError]:
        """Yield the pictures; a run of rows in their order streams each row group once."""
        for relpath, group in groupby(items, lambda item: item.relpath.rpartition("#")[0]):
            run = list(group)
            for item, found in zip(run, self._read_file(relpath, run), strict=True):
                yield SourceError(item.problem) if isinstance(found, SourceError) and item.problem else found

    def _read_file(self, relpath: str, run: Sequence[SourceItem]) -> Iterator[bytes | SourceError]:
        cursor = self._take_cursor(relpath)
        for item in run:
            row = item.relpath.rpartition("#")[2]
            if not relpath or not row.isdecimal():
                yield SourceError(f"{item.relpath} is no row of a Parquet file.")
                continue
            try:
                if cursor is None or int(row) < cursor.row:
                    cursor = _Cursor(self.tree, relpath)
                yield self._picture(cursor.value(int(row)), item.relpath)
            except SourceError as error:
                yield error
        with self._lock:
            self._cursor = cursor

    def _take_cursor(self, relpath: str) -> "_Cursor | None":
        """Go on where the last run ended; a second thread finds none and opens its own."""
        with self._lock:
            cursor, self._cursor = self._cursor, None
        return cursor if cursor is not None and cursor.relpath == relpath else None

    def _picture(self, value: Any, relpath: str) -> bytes | SourceError:
        path = ""
        if isinstance(value, dict):
            path, value = value.get("path") or "", value.get("bytes")
        if value is not None:
            if len(value) > MAX_FILE_BYTES:
                return SourceError(f"{relpath} has {len(value)} bytes; the most is {MAX_FILE_BYTES}.")
            return bytes(value)
        if not path:
            return SourceError(f"{relpath} has no bytes.")
        try:
            return self.tree.read(safe_relpath(path))
        except SourceError as error:
            return SourceError(f"{relpath} has no bytes, only a path that cannot be read: {error}")


class _Cursor:
    """Position in a file: `row` is the lowest row that can still be given without starting over."""

    def __init__(self, tree: FileTree, relpath: str) -> None:
        self.relpath, self.row = relpath, 0
        self._context = open_parquet(tree, relpath)
        self._file: pq.ParquetFile = self._context.__enter__()
        self._column = picture_column(self._file.schema_arrow, relpath).column
        counts = (
            self._file.metadata.row_group(at).num_rows for at in range(self._file.metadata.num_row_groups)
        )
        self._ends: list[int] = []  # first row after each row group
        for count in counts:
            self._ends.append((self._ends[-1] if self._ends else 0) + count)
        self._group = -1
        self._fault = ""  # what makes the rest of this row group unreadable
        self._batches: Iterator[pa.RecordBatch] = iter(())
        self._batch: pa.Array | None = None

    def value(self, row: int) -> Any:
        """Return the picture of a row at or after `self.row`. Raises SourceError past the end."""
        group = next((at for at, end in enumerate(self._ends) if row < end), None)
        if group is None:
            raise SourceError(f"{self.relpath} has no row {row}.")
        if group == self._group and self._fault:
            raise SourceError(self._fault)
        if group != self._group:
            self._fault = ""
            self._group, self._batch = group, None
            self.row = self._ends[group - 1] if group else 0
            self._batches = self._file.iter_batches(
                PICTURE_BATCH_ROWS, row_groups=[group], columns=[self._column], use_threads=False
            )
        while self._batch is None or row >= self.row + len(self._batch):
            if self._batch is not None:
                self.row += len(self._batch)
            self._batch = self._next_batch()
        return self._batch[row - self.row].as_py()

    def _next_batch(self) -> pa.Array:
        try:
            batch = next(self._batches, None)
        except ARROW_FAULTS as error:
            batch, self._fault = None, f"{self.relpath} is damaged: {first_line(error)}"
        if batch is None:
            self._fault = self._fault or f"{self.relpath} is damaged: it holds fewer rows than it says."
            raise SourceError(self._fault)
        return batch.column(0)


def row_name(relpath: str, row: int) -> str:
    """Return the relpath of a row."""
    return f"{relpath}#{row:09d}"


def _value(value: Any, names: list[str] | None) -> str:
    if names and isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    return as_text(value)


def _failure(record: dict[str, Any]) -> str:
    """Return why img2dataset has no picture for a row, "" when it has or the file is not its."""
    status = as_text(record.get("status")) if "error_message" in record else ""
    return "" if status in ("", "success") else f"img2dataset: {status}, {as_text(record['error_message'])}"


def open_kind(tree: FileTree, declared: Declared, options: KindOptions) -> ParquetRows:
    """Open a tree as Parquet rows. Raises SourceError when no file of it has pictures."""
    source = ParquetRows(tree, declared)
    faults = []
    for entry in tree.walk():
        if (
            entry.relpath.lower().endswith(PARQUET_SUFFIXES)
            and not entry.fault
            and not is_hidden(entry.relpath)
        ):
            try:
                with open_parquet(tree, entry.relpath) as file:
                    picture_column(file.schema_arrow, entry.relpath)
                return source
            except SourceError as error:
                faults.append(str(error))
    raise SourceError(faults[0] if faults else f"{tree.uri} has no Parquet file.")
