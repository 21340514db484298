"""Rows of tables: what was written is read, and one bad row costs one row."""

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.ingest.sources.record import SourceError
from components.ingest.sources.table import Table, TableRow

# Anything a cell can hold. Cells are stripped when read.
CELL = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def rows_of(data: bytes | str, name: str = "t.csv", **options: str) -> list[TableRow]:
    content = data.encode() if isinstance(data, str) else data
    with Table(io.BytesIO(content), name, **options) as table:
        return list(table.rows())


def captions(data: bytes | str, name: str = "t.csv", **options: str) -> list[str]:
    return [row.values["caption"] for row in rows_of(data, name, **options)]


@settings(max_examples=300, deadline=None)
@given(
    cells=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=8),
    delimiter=st.sampled_from(",;\t|"),
    line_end=st.sampled_from(["\n", "\r\n"]),
    bom=st.booleans(),
    quote_all=st.booleans(),
)
def test_csv_round_trip(
    cells: list[tuple[str, str]], delimiter: str, line_end: str, bom: bool, quote_all: bool
) -> None:
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    writer = csv.writer(text, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    writer.writerow(["file", "caption", "n"])
    if not quote_all:  # the writer leaves a lone CR unquoted, which ends the line for every reader
        cells = [(file.replace("\r", ""), caption.replace("\r", "")) for file, caption in cells]
    for number, (file, caption) in enumerate(cells):
        writer.writerow([file, caption, number])
    rows = rows_of(text.getvalue().encode("utf-8-sig" if bom else "utf-8"))
    assert [(row.values["file"], row.values["caption"]) for row in rows] == [
        (file.strip(), caption.strip()) for file, caption in cells
    ]
    assert not any(row.problem for row in rows)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(CELL, CELL, st.booleans()), min_size=1, max_size=8))
def test_jsonl_round_trip(cells: list[tuple[str, str, bool]]) -> None:
    records = [{"file_name": f, "text": t, "reviewed": r} for f, t, r in cells]
    rows = rows_of("\n".join(map(json.dumps, records)), "t.jsonl")
    assert [row.values for row in rows] == [
        {"file": f.strip(), "caption": t.strip(), "reviewed": str(r).lower()} for f, t, r in cells
    ]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["t.csv", "t.tsv", "t.jsonl"]))
def test_any_bytes_below_a_header_are_rows_and_never_a_crash(junk: bytes, name: str) -> None:
    header = b'{"file": "a.jpg"}\n' if name.endswith("l") else b"file,caption\n"
    rows = rows_of(header + junk, name)
    lines = [row.line for row in rows]
    assert lines == sorted(set(lines))


def test_quoted_newlines_and_crlf_stay_and_lines_are_counted_as_an_editor_does() -> None:
    rows = rows_of('file,caption\r\na.jpg,"two\r\nlines, ""quoted"""\r\n\r\nb.jpg,next\r\n')
    assert [(row.line, row.values["caption"]) for row in rows] == [(2, 'two\r\nlines, "quoted"'), (5, "next")]


def test_unicode_line_separators_do_not_end_a_row() -> None:
    assert captions("file,caption\na.jpg,one\u2028two\x0bthree\x85four\nb.jpg,x\n") == [
        "one\u2028two\x0bthree\x85four",
        "x",
    ]


def test_a_quote_that_is_never_closed_costs_its_own_line_only() -> None:
    lines = ["file,caption", 'a.jpg,"a dog', *[f"{n}.jpg,dog {n}" for n in range(500)]]
    rows = rows_of("\n".join(lines))
    assert rows[0].problem.startswith("opens a quote that is never closed")
    assert rows[0].values == {"file": "a.jpg"}
    assert [row.values["caption"] for row in rows[1:]] == [f"dog {n}" for n in range(500)]
    assert not any(row.problem for row in rows[1:])


def test_a_quote_closed_lines_later_inside_another_field_costs_its_own_line_only() -> None:
    rows = rows_of('file,caption\na.jpg,"open\nb.jpg,fine\nc.jpg,"closed here" or not\nd.jpg,last\n')
    assert [(row.line, bool(row.problem)) for row in rows] == [(2, True), (3, False), (4, True), (5, False)]


def test_quotes_are_plain_text_in_tsv_unless_they_enclose_the_field() -> None:
    text = 'file\tcaption\na.jpg\t"Hello" said the dog\nb.jpg\t"quoted\ttab"\nc.jpg\t12" tall\nd.jpg\t"x\n'
    assert captions(text, "t.tsv") == ['"Hello" said the dog', "quoted\ttab", '12" tall', '"x']


def test_rows_of_the_wrong_width_say_so() -> None:
    rows = rows_of("file,caption,breed\na.jpg,a dog, running,pug\nb.jpg,x\nc.jpg,ok,pug,,\n")
    assert "4 fields where the header has 3" in rows[0].problem
    assert "2 fields where the header has 3" in rows[1].problem
    assert rows[2].problem == "" and rows[2].values["breed"] == "pug"


def test_bad_json_lines_cost_themselves_only() -> None:
    text = '{"file": "a.jpg", "caption": "x"}\n{oops\n[1]\n\n'
    text += '{"image": "b.jpg", "text": ["y", "z"], "label": 3}\n'
    rows = rows_of(text, "t.jsonl")
    assert [row.line for row in rows] == [1, 2, 3, 5]
    assert "is no JSON" in rows[1].problem and "no object" in rows[2].problem
    assert rows[3].values == {"file": "b.jpg", "caption": "y", "breed": "3"}


def test_a_bad_first_json_line_does_not_hide_the_roles() -> None:
    rows = rows_of('{oops\n{"file": "a.jpg", "caption": "good"}\n', "t.jsonl")
    assert rows[0].problem and rows[1].values == {"file": "a.jpg", "caption": "good"}


@pytest.mark.parametrize(
    ("header", "roles"),
    [
        ("file_name,text", {"file": "file_name", "caption": "text"}),
        ("Image Path;Description;Label", {"file": "Image Path", "caption": "Description", "breed": "Label"}),
        ("path,file,license", {"file": "file", "license": "license"}),
        ("id\tbreed", {"file": "id", "breed": "breed"}),
    ],
)
def test_columns_are_found_by_synonym_and_the_best_one_wins(header: str, roles: dict[str, str]) -> None:
    assert Table(io.BytesIO(header.encode()), "t.csv").roles == roles


def test_a_table_without_names_says_what_it_found_and_the_way_out() -> None:
    with pytest.raises(SourceError, match=r"found 'sheet', 'author'; looked for .*file_name.*columns="):
        rows_of("sheet,author\nx,y\n")


def test_declared_columns_read_a_table_without_header() -> None:
    text = "a.jpg|ignored|a brown dog\nb.jpg|ignored|a white dog\n"
    assert captions(text, columns="file,-,caption") == ["a brown dog", "a white dog"]


def test_encodings() -> None:
    text = "file,caption\na.jpg,chien mignon é\n"
    assert captions(text.encode("utf-16")) == ["chien mignon é"]
    assert captions(text.encode("cp1252"), encoding="cp1252") == ["chien mignon é"]
    assert captions(text.encode("cp1252")) == ["chien mignon \udce9"]  # told by the row's reader
    with pytest.raises(SourceError, match="is not known"):
        rows_of(text, encoding="klingon")
    with pytest.raises(SourceError, match="zero bytes"):
        rows_of(b"\x89\0\0\0file,caption")
