"""Precedence and validation of a run's values."""

import pytest

from components.data.options import OptionError
from pipelines.values import resolve


@pytest.fixture
def profiles(monkeypatch):
    monkeypatch.setattr(
        "pipelines.values.PROFILES",
        {
            "plain": {"photos": {"rows": 7, "note": "profile"}, "marks": {"threshold": 0.1}},
            "apart": {"marks": {"threshold": 0.1}, "second": {"threshold": 0.9}},
            "broken": {"photos": {"rowz": 7}},
        },
    )


def write(path, text):
    path.write_text(text)
    return path


def test_the_command_line_goes_before_the_file_before_the_profile_before_defaults(toy, profiles, tmp_path):
    file = write(tmp_path / "f.yaml", "photos:\n  rows: 8\n  note: file\nmarks.strategy: centre\n")
    values = resolve(toy, profile="plain", file=file, assignments=["photos.rows=9"])
    assert values.options == {
        "photos": {"rows": 9, "words": ["sit", "stay"], "weights": {}, "note": "file"},
        "marks": {"threshold": 0.1, "strategy": "centre", "behave": ""},
    }
    assert values.parameters["photos_rows"] == 9
    assert values.sources["photos_rows"] == "command line"
    assert values.sources["photos_note"] == "file"
    assert values.sources["marks_threshold"] == "profile"
    assert values.sources["photos_words"] == "default"


def test_a_profile_for_a_prefix_goes_before_one_for_its_step(twice, profiles):
    options = resolve(twice, profile="apart").options
    assert (options["first"]["threshold"], options["second"]["threshold"]) == (0.1, 0.9)


def test_the_pipelines_own_defaults_and_fixed_options_are_used(twice):
    values = resolve(twice)
    assert values.options["photos"]["rows"] == 5
    assert values.options["first"]["strategy"] == "centre"
    assert "first_strategy" not in values.parameters


@pytest.mark.parametrize(
    ("assignment", "name", "value"),
    [
        ("photos.words=a, b,,c", "photos_words", ["a", "b", "c"]),
        ("photos.words=", "photos_words", []),
        ('photos.words=["a,b", "c"]', "photos_words", ["a,b", "c"]),
        ('photos.weights={"a": 2}', "photos_weights", {"a": 2.0}),
        ("photos_rows=12", "photos_rows", 12),
        ("marks.threshold=1e-2", "marks_threshold", 0.01),
        ("photos.note=a=b", "photos_note", "a=b"),
        ("data_root=/x", "data_root", "/x"),
    ],
)
def test_typed_text_becomes_the_options_type(toy, assignment, name, value):
    found = resolve(toy, assignments=[assignment]).parameters[name]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("photos.row=1", r"There is no option photos\.row; did you mean photos\.rows\?"),
        ("phots.rows=1", r"There is no option phots\.rows; did you mean photos\.rows\?"),
        ("photos.rows", r"-p photos\.rows has no '='"),
        ("photos.rows=0", r"photos\.rows='0' is not valid: .*greater than or equal to 1"),
        ("photos.rows=many", r"photos\.rows='many' is not valid"),
        ("marks.strategy=corner", r"marks\.strategy='corner' is not valid: .*'box' or 'centre'"),
        ("marks.threshold=nan", r"marks\.threshold='nan' is not valid"),
        ("photos.note=a{{$.inputs}}", r"photos\.note holds '\{\{\$'"),
        ("photos.weights={1}", r"photos\.weights='\{1\}' is not valid JSON"),
    ],
)
def test_wrong_assignments_name_option_and_fix(toy, assignment, message):
    with pytest.raises(OptionError, match=message):
        resolve(toy, assignments=[assignment])


def test_an_unknown_profile_and_an_unknown_option_in_one_are_errors(toy, profiles):
    with pytest.raises(OptionError, match="no profile plian; did you mean plain"):
        resolve(toy, profile="plian")
    with pytest.raises(OptionError, match=r"no option photos\.rowz; did you mean photos\.rows"):
        resolve(toy, profile="broken")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "holds a list"),
        ("a: [", "cannot be read as YAML"),
        ("photos:\n  rowz: 1\n", r"photos\.rows"),
    ],
)
def test_a_wrong_file_is_an_error(toy, tmp_path, text, message):
    with pytest.raises(OptionError, match=message):
        resolve(toy, file=write(tmp_path / "f.yaml", text))


def test_a_missing_file_is_an_error(toy, tmp_path):
    with pytest.raises(OptionError, match="There is no file"):
        resolve(toy, file=tmp_path / "none.yaml")


def test_a_table_option_in_a_file_is_not_taken_for_a_step(toy, tmp_path):
    values = resolve(toy, file=write(tmp_path / "f.yaml", "photos.weights: {sit: 2}\n"))
    assert values.options["photos"]["weights"] == {"sit": 2.0}
