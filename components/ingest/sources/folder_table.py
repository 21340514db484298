"""An image folder with a table (CSV, TSV, JSONL) that describes its files.

Rows and files are joined in relpath order, so only the table's text is held, as Arrow columns (about 200
bytes a row). A row without a file, a second row for a file, and a row that cannot be read each become an
item with a problem; a file without a row is kept with an empty caption.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from components.ingest.sources.fields import TEXT_ROLES, clean_text, item_of, safe_relpath
from components.ingest.sources.folder import FolderSource, file_item, is_photo
from components.ingest.sources.record import Declared, KindOptions, SourceError, SourceItem
from components.ingest.sources.table import Table, TableRow
from components.ingest.sources.table_search import TablePlace, find_tables, table_names
from components.ingest.sources.tree import FileEntry, FileTree

BATCH_ROWS = 4096
ROLES = (*TEXT_ROLES, "reviewed")
_SCHEMA = pa.schema(
    [
        ("relpath", pa.large_string()),
        ("line", pa.int64()),
        ("table", pa.int16()),
        *((role, pa.large_string()) for role in ROLES),
        ("problem", pa.large_string()),
    ]
)


class FolderTable(FolderSource):
    """Pictures described by the rows of a table."""

    def __init__(self, tree: FileTree, declared: Declared, options: KindOptions) -> None:
        super().__init__(tree, declared, options)
        self.places = find_tables(tree, options)

    def _found(self) -> Iterator[SourceItem]:
        names = {place.relpath for place in self.places}
        rows = _Peekable(self._sorted_rows())
        for entry in self.tree.walk():
            while (row := rows.head) is not None and row["relpath"] < entry.relpath:
                yield from self._missing(rows)
            if entry.relpath in names:
                self.sidecars[_extension(entry.relpath)] += 1
            elif row is not None and row["relpath"] == entry.relpath:
                yield from self._described(entry, rows)
            elif is_photo(entry.relpath):
                yield file_item(entry)
            else:
                self.skip(entry)
        while rows.head is not None:
            yield from self._missing(rows)

    def _described(self, entry: FileEntry, rows: "_Peekable") -> Iterator[SourceItem]:
        row = rows.take()
        problem = f"{entry.relpath} {entry.fault}" if entry.fault else row["problem"]
        yield item_of(entry.relpath, row, problem)
        yield from self._repeated(row, rows)

    def _missing(self, rows: "_Peekable") -> Iterator[SourceItem]:
        row = rows.take()
        problem = row["problem"] or f"{self._place(row)} names {row['relpath']}, which is not in the source"
        yield item_of(row["relpath"], row, problem)
        yield from self._repeated(row, rows)

    def _repeated(self, first: dict[str, Any], rows: "_Peekable") -> Iterator[SourceItem]:
        """Give later rows of the same file an item of their own, which says so."""
        while (row := rows.head) is not None and row["relpath"] == first["relpath"]:
            rows.take()
            table = self.places[row["table"]].relpath if row["table"] != first["table"] else ""
            where = f"#{table}:line={row['line']}" if table else f"#line={row['line']}"
            text = f"{self._place(row)} names {row['relpath']} again, after {self._place(first)}"
            yield item_of(row["relpath"] + where, row, "; ".join(filter(None, (text, row["problem"]))))

    def _place(self, row: dict[str, Any]) -> str:
        return f"line {row['line']} of {self.places[row['table']].relpath}"

    def _sorted_rows(self) -> Iterator[dict[str, Any]]:
        batches = [batch for at, place in enumerate(self.places) for batch in self._batches(at, place)]
        table = pa.Table.from_batches(batches, _SCHEMA).combine_chunks()
        keys = [("relpath", "ascending"), ("table", "ascending"), ("line", "ascending")]
        indices = pc.sort_indices(table, sort_keys=keys)
        for start in range(0, len(indices), BATCH_ROWS):
            yield from table.take(indices.slice(start, BATCH_ROWS)).to_pylist()

    def _batches(self, at: int, place: TablePlace) -> Iterator[pa.RecordBatch]:
        columns: dict[str, list[Any]] = {name: [] for name in _SCHEMA.names}
        stream = self.tree.open(place.relpath)
        with Table(stream, place.relpath, self.options.columns, self.options.encoding) as table:
            for row in table.rows():
                _append(columns, at, place, row)
                if len(columns["line"]) == BATCH_ROWS:
                    yield pa.RecordBatch.from_pydict(columns, _SCHEMA)
                    columns = {name: [] for name in _SCHEMA.names}
        yield pa.RecordBatch.from_pydict(columns, _SCHEMA)


def _append(columns: dict[str, list[Any]], at: int, place: TablePlace, row: TableRow) -> None:
    """Add a row, under the relpath it names or, when it names none, under its own place in the table."""
    problems = [row.problem] if row.problem else []
    own = f"{place.relpath}#line={row.line}"
    relpath = own
    if "file" in row.values:
        try:
            relpath = place.prefix + safe_relpath(row.values["file"] + place.suffix)
        except SourceError as error:
            problems.append(f"the file name {error}")
    columns["relpath"].append(relpath)
    columns["line"].append(row.line)
    columns["table"].append(at)
    for role in ROLES:
        text, fault = clean_text(row.values.get(role, ""))
        columns[role].append(text)
        if fault:
            hint = "; save the table as UTF-8 or give its encoding" if "UTF-8" in fault else ""
            problems.append(f"{role} {fault}{hint}")
    where = f"line {row.line} of {place.relpath}: " if problems else ""
    columns["problem"].append(where + "; ".join(problems))


class _Peekable:
    """An iterator of rows with its next one in `head` (None at the end)."""

    def __init__(self, rows: Iterator[dict[str, Any]]) -> None:
        self._rows = rows
        self.head = next(rows, None)

    def take(self) -> dict[str, Any]:
        row = self.head
        assert row is not None
        self.head = next(self._rows, None)
        return row


def _extension(relpath: str) -> str:
    return "." + relpath.rpartition(".")[2].lower()


def open_kind(tree: FileTree, declared: Declared, options: KindOptions) -> FolderTable:
    """Open a tree as an image folder with a table. Raises SourceError when there is none, or several fit."""
    source = FolderTable(tree, declared, options)
    if not source.places:
        found = ", ".join(table_names(tree)[:5]) or "no .csv, .tsv, .jsonl or .ndjson file"
        raise SourceError(
            f"{tree.uri} has no table that names its files; found {found}. "
            "Give table=FILE, or kind=class_folders."
        )
    return source
