"""Rows of CSV, TSV and JSONL tables: one bad row is one row's problem, whatever comes before and after it.

CSV follows RFC 4180 with any of , ; | and tab as delimiter. A quote that is never closed, or closed in the
middle of a field, costs its own line and not the lines after it. In .tsv files such quotes are plain text.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO

from components.ingest.sources.fields import SYNONYMS, as_text, find_roles
from components.ingest.sources.record import SourceError

TABLE_EXTENSIONS = frozenset({".csv", ".tsv", ".jsonl", ".ndjson"})
JSON_EXTENSIONS = (".jsonl", ".ndjson")
NAMING_ROLES = frozenset({"file", "image_id"})  # one of them says which picture a row is about
DELIMITERS = ",\t;|"
MAX_RECORD_LINES = 200  # a quoted field over more lines is taken for a quote that nobody closed
MAX_LINE_CHARS = 1_000_000
PROBED_JSON_LINES = 100
csv.field_size_limit(
    2**31 - 1
)  # lengths are bounded by MAX_LINE_CHARS and MAX_RECORD_LINES, with a better error


@dataclass(frozen=True, slots=True)
class TableRow:
    """One record. `line` is where it starts, as an editor counts; `values` maps roles to text as found."""

    line: int
    values: dict[str, str]
    problem: str = ""


class Table:
    """A table in a stream, with its roles found from the header (or from `columns`). A context manager.

    Attributes: roles, {role: column name} of the header, or of the first record of a JSONL.
    Raises SourceError when the file is no table, has no column that names pictures, or has no text encoding.
    """

    def __init__(
        self,
        stream: IO[bytes],
        name: str,
        columns: str = "",
        encoding: str = "utf-8",
        synonyms: Mapping[str, list[str]] = SYNONYMS,
    ) -> None:
        self.name, self._synonyms = name, synonyms
        self._lines = _Lines(_text(stream, name, encoding), encoding)
        try:
            self._find_roles(columns)
        except BaseException:
            self._lines.close()
            raise

    def __enter__(self) -> "Table":
        return self

    def __exit__(self, *error: object) -> None:
        self._lines.close()

    def _find_roles(self, columns: str) -> None:
        self._json = self.name.lower().endswith(JSON_EXTENSIONS)
        self._tsv = self.name.lower().endswith(".tsv")
        self._delimiter, self._header = ",", [""]
        self.roles: dict[str, str] = {}
        if self._json:
            self._json_roles()
        elif columns:
            self._declared_roles(columns)
        else:
            self._header_roles()
        if not self.roles.keys() & NAMING_ROLES:
            found = ", ".join(repr(column[:40]) for column in self._header) or "nothing"
            raise SourceError(
                f"{self.name} has no column that names files: found {found}; looked for one of "
                f"{', '.join(self._synonyms['file'])}. "
                'Without a header say columns="file,caption,-,breed".'
            )

    def rows(self) -> Iterator[TableRow]:
        """Yield the records below the header, once."""
        yield from self._json_rows() if self._json else self._csv_rows()

    # -- delimited text

    def _header_roles(self) -> None:
        record = self._first()
        best: tuple[int, str, list[str], dict[str, str]] = (-1, ",", [], {})
        for delimiter in "\t,;|" if self._tsv else DELIMITERS:
            header = _fields(record[1], delimiter)
            roles = find_roles(header, self._synonyms)
            score = 2 * bool(roles.keys() & NAMING_ROLES) + (len(header) > 1)
            if score > best[0]:
                best = (score, delimiter, header, roles)
        _, self._delimiter, self._header, self.roles = best

    def _declared_roles(self, columns: str) -> None:
        names = [name.strip() for name in columns.split(",")]
        self.roles = find_roles(names, self._synonyms)
        first = self._first()
        counts = {
            d: abs(len(_fields(first[1], d)) - len(names)) for d in ("\t,;|" if self._tsv else DELIMITERS)
        }
        self._delimiter = min(counts, key=lambda delimiter: counts[delimiter])
        self._header = names
        self._lines.push_back(first)

    def _first(self) -> tuple[int, str]:
        for line, text in self._lines:
            if text.strip():
                return line, text
        return 0, ""

    def _csv_rows(self) -> Iterator[TableRow]:
        position = {role: self._header.index(name) for role, name in self.roles.items()}
        for line, text in self._lines:
            if not text.strip("\r\n \t"):
                continue
            record, state = self._whole_record(line, text)
            if state != "whole" and not self._tsv:
                yield TableRow(line, self._guess(text, position), _QUOTE_PROBLEMS[state])
                continue
            fields = _fields(record, self._delimiter) if state == "whole" else _plain(text, self._delimiter)
            width = len(self._header)
            problem = ""
            if len(fields) < width or any(field.strip() for field in fields[width:]):
                problem = (
                    f"has {len(fields)} fields where the header has {width}; "
                    f"put quotes around a field that holds {self._delimiter!r}"
                )
            # Of a row whose fields have shifted, only what stands first can be trusted.
            trusted = 1 if problem else width
            values = {role: fields[at].strip() for role, at in position.items() if at < trusted}
            yield TableRow(line, values, problem)

    def _whole_record(self, line: int, text: str) -> tuple[str, str]:
        """Join lines while a quote is open. Lines that turn out not to belong are given back."""
        state = _state(text, self._delimiter)
        taken: list[tuple[int, str]] = []
        while state == "open" and len(taken) < MAX_RECORD_LINES:
            following = self._lines.next()
            if following is None:
                break
            taken.append(following)
            text += following[1]
            if '"' in following[1]:
                state = _state(text, self._delimiter)
        if state != "whole" and taken:
            self._lines.push_back(*taken)
        return text, state

    def _guess(self, text: str, position: dict[str, int]) -> dict[str, str]:
        """Return what a broken line still says, if its file field stands before the broken one."""
        fields = _plain(text.split('"', 1)[0], self._delimiter)
        return {role: fields[at].strip() for role, at in position.items() if at < len(fields) - 1}

    # -- JSON lines

    def _json_roles(self) -> None:
        """Take the roles from the first record that can be read among the first lines."""
        seen: list[tuple[int, str]] = []
        fault = ""
        for line, text in self._lines:
            seen.append((line, text))
            record = _json_object(text)
            if isinstance(record, dict):
                self._header = [str(key) for key in record]
                self.roles = find_roles(self._header, self._synonyms)
                break
            fault = fault or (record and f"line {line} {record}")
            if len(seen) == PROBED_JSON_LINES:
                break
        self._lines.push_back(*seen)
        if fault and not self.roles:
            raise SourceError(f"{self.name} is no JSONL: {fault}.")

    def _json_rows(self) -> Iterator[TableRow]:
        known: dict[tuple[str, ...], dict[str, str]] = {}
        for line, text in self._lines:
            record = _json_object(text)
            if not record:
                continue
            if isinstance(record, str):
                yield TableRow(line, {}, record)
                continue
            keys = tuple(record)
            if keys not in known and len(known) < 1000:
                known[keys] = find_roles(keys, self._synonyms)
            roles = known.get(keys) or find_roles(keys, self._synonyms)
            yield TableRow(line, {role: as_text(record[name]) for role, name in roles.items()})


_QUOTE_PROBLEMS = {
    "open": 'opens a quote that is never closed; double a quote inside quotes ("")',
    "malformed": 'has text after a closing quote; double a quote inside quotes ("")',
}


class _Lines:
    """Numbered lines that can be given back. Only \\n, \\r\\n and \\r end a line, no other Unicode break."""

    def __init__(self, stream: io.TextIOWrapper, encoding: str) -> None:
        self._stream, self._encoding = stream, encoding
        self._back: list[tuple[int, str]] = []
        self._count = 0

    def __iter__(self) -> Iterator[tuple[int, str]]:
        while (line := self.next()) is not None:
            yield line

    def next(self) -> tuple[int, str] | None:
        if self._back:
            return self._back.pop()
        try:
            text = self._stream.readline(MAX_LINE_CHARS)
        except UnicodeError as error:
            raise SourceError(f"Line {self._count + 1} is not {self._encoding}: {error}.") from None
        if not text:
            return None
        self._count += 1
        return self._count, text

    def close(self) -> None:
        """Close the stream, too."""
        self._stream.close()

    def push_back(self, *lines: tuple[int, str]) -> None:
        self._back.extend(reversed(lines))


def _text(stream: IO[bytes], name: str, encoding: str) -> io.TextIOWrapper:
    start = stream.read(4)
    stream.seek(0)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):  # Excel's "Unicode text"
        return io.TextIOWrapper(stream, encoding="utf-16", errors="replace", newline="")
    if b"\0" in start:
        raise SourceError(f"{name} is no text: it has zero bytes. Save it as UTF-8.")
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
        encoding = "utf-8-sig"
    try:
        return io.TextIOWrapper(stream, encoding=encoding, errors="surrogateescape", newline="")
    except LookupError:
        raise SourceError(f"encoding={encoding!r} is not known: use utf-8, cp1252, utf-16 ...") from None


def _state(text: str, delimiter: str) -> str:
    """Tell whether a record is "whole", has an "open" quote, or is "malformed": text after a closing one."""
    at, end = 0, len(text)
    while at < end and '"' in text:
        if text[at] == '"':
            at += 1
            while True:
                close = text.find('"', at)
                if close < 0:
                    return "open"
                at = close + 1
                if text[at : at + 1] != '"':
                    break
                at += 1
            if at < end and text[at] != delimiter and text[at:].strip("\r\n"):
                return "malformed"
        at = text.find(delimiter, at) + 1
        if at == 0:
            break
    return "whole"


def _fields(record: str, delimiter: str) -> list[str]:
    """Split one whole record; quoted newlines stay as they are."""
    if '"' not in record:
        return _plain(record, delimiter)
    return next(csv.reader([re.sub(r"[\r\n]+\Z", "", record)], delimiter=delimiter), [""])


def _plain(record: str, delimiter: str) -> list[str]:
    return record.rstrip("\r\n").split(delimiter)


def _json_object(text: str) -> dict[str, object] | str:
    """Return the object of a line, "" for a blank line, or what is wrong with it."""
    if not text.strip():
        return ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return f"is no JSON ({error})"
    return value if isinstance(value, dict) else "is JSON but no object with named values"
