"""Cells, flags and file names of tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.ingest.sources.fields import as_text, clean_text, item_of, parse_reviewed, safe_relpath
from components.ingest.sources.record import SourceError


@given(st.text(st.characters(), max_size=40))
def test_clean_text_can_always_be_encoded_and_is_the_text_where_nothing_is_wrong(text: str) -> None:
    clean, problem = clean_text(text)
    clean.encode()
    assert len(clean) == len(text)
    assert (clean == text) == (problem == "")


def test_clean_text_names_the_byte() -> None:
    assert clean_text("caf\udce9") == ("caf\ufffd", "is not valid UTF-8 (byte 0xe9)")
    assert clean_text("\ud83d")[1] == "is not valid UTF-8 (half a character, U+D83D)"
    text, problem = clean_text("x" * 50_000)
    assert len(text) == 20_000 and "50000 characters" in problem


@pytest.mark.parametrize(
    ("given_path", "relpath"),
    [
        ("a.jpg", "a.jpg"),
        ("./a//b.jpg", "a/b.jpg"),
        ("sub\\b.jpg", "sub/b.jpg"),
        ("..a/b..jpg", "..a/b..jpg"),
    ],
)
def test_file_names_become_relpaths(given_path: str, relpath: str) -> None:
    assert safe_relpath(given_path) == relpath


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("../a.jpg", "leaves the source"),
        ("a/..\\..\\b.jpg", "leaves the source"),
        ("/etc/passwd", "absolute"),
        ("\\\\server\\share\\a.jpg", "absolute"),
        ("C:\\dogs\\a.jpg", "absolute"),
        ("https://x.org/a.jpg", "URL"),
        ("a\0.jpg", "control"),
        ("a\n.jpg", "control"),
        ("\udce9.jpg", "UTF-8"),
        ("", "names no file"),
        ("folder/", "names no file"),
    ],
)
def test_path_tricks_are_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        safe_relpath(text)


@given(st.text(st.characters(), max_size=20) | st.text("./\\ab:", max_size=8))
def test_what_is_accepted_stays_inside(text: str) -> None:
    try:
        path = safe_relpath(text)
    except SourceError:
        return
    assert not path.startswith("/") and ".." not in path.split("/") and "\\" not in path


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("  x ", "x"),
        (True, "true"),
        (3.0, "3"),
        (2.5, "2.5"),
        ([None, "", "a", "b"], "a"),
        ({}, ""),
    ],
)
def test_cells_as_text(value: object, text: str) -> None:
    assert as_text(value) == text


def test_reviewed_is_yes_no_or_a_problem() -> None:
    assert all(parse_reviewed(text) for text in ("true", "1", "Yes", " Y "))
    assert not any(parse_reviewed(text) for text in ("false", "0", "", "No"))
    item = item_of("a.jpg", {"reviewed": "perhaps", "caption": "caf\udce9", "breed": "None"}, "first")
    assert item.problem.startswith("first; caption is not valid UTF-8 (byte 0xe9); reviewed is 'perhaps'")
    assert (item.caption, item.breed, item.reviewed) == ("caf\ufffd", "", False)
