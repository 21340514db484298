"""Filters on planted rows, and pages of them."""

import numpy as np
import pyarrow as pa
import pytest

from components.data.manifest import DatasetManifest, Group
from components.data.schema import arrow_schema
from components.data.shards import write_file
from components.data.storage import open_store
from pipelines.lineage.console.columns import Columns
from pipelines.lineage.console.rows import (
    MAX_FILTERS,
    OPERATORS,
    PAGE_ROWS,
    Filter,
    FilterError,
    column_help,
    matching,
    row_page,
)

VALUES = {
    "image_id": [f"{at:032x}" for at in range(6)],
    "width_px": [10, 20, 30, None, 50, 60],
    "caption": ["A Dog", "a cat", None, "", "dog (2)", "100% dog"],
    "breed": ["pug", "pug", "samoyed", None, "pug", "a,b"],
    "phash": [0, 2**64 - 1, 2**63, 5, None, 7],
    "color_shift": [0.1, 0.2, float("nan"), None, 0.35, 0.5],
    "keep": [True, False, True, False, None, True],
    "reasons": [[], ["color_shift"], [], ["color_shift_x", "breed"], None, []],
    "subject_box": [[0, 0, 1, 1], None, None, None, None, [1, 1, 2, 2]],
}


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """(columns, store, dataset) of six rows in one group."""
    store = open_store(str(tmp_path_factory.mktemp("rows")))
    names = list(VALUES)
    table = pa.table(VALUES, schema=arrow_schema(names))
    file = write_file(store, "planted/ingest/1", "merged", table).file
    group = Group(name="images", group_id="1", columns=[*names, "image"], merged=file)
    dataset = DatasetManifest(
        name="planted",
        id="1",
        step="ingest",
        parents=[],
        code_version="",
        options={},
        rows=6,
        groups={"images": group},
    )
    return Columns(), store, dataset


@pytest.mark.parametrize(
    ("column", "operator", "value", "rows"),
    [
        ("breed", "is", "pug", [0, 1, 4]),
        ("breed", "is not", "pug", [2, 3, 5]),
        ("breed", "is empty", "", [3]),
        ("breed", "is not empty", "", [0, 1, 2, 4, 5]),
        ("caption", "contains", "DOG", [0, 4, 5]),
        ("caption", "contains", "(2)", [4]),
        ("caption", "contains", "%", [5]),
        ("caption", "is", "", [3]),
        ("width_px", "at least", "30", [2, 4, 5]),
        ("width_px", "at most", "20.5", [0, 1]),
        ("width_px", "is", "50", [4]),
        ("color_shift", "at most", "0.35", [0, 1, 4]),
        ("color_shift", "at least", "0.2", [1, 4, 5]),
        ("color_shift", "is", "0.35", [4]),
        ("color_shift", "is empty", "", [2, 3]),
        ("keep", "is", "true", [0, 2, 5]),
        ("keep", "is", "No", [1, 3]),
        ("keep", "is not", "true", [1, 3, 4]),
        ("reasons", "is", "color_shift", [1]),
        ("reasons", "is not", "color_shift", [0, 2, 3, 4, 5]),
        ("reasons", "contains", "color", [1, 3]),
        ("phash", "is", "18446744073709551615", [1]),
        ("phash", "is", "9223372036854775808", [2]),
        ("subject_box", "is not empty", "", [0, 5]),
        ("image_id", "contains", "0005", [5]),
    ],
)
def test_each_operator_finds_the_planted_rows(planted, column, operator, value, rows):
    assert matching(*planted, [Filter(column, operator, value)]).tolist() == rows


def test_a_float_is_compared_as_stored_with_the_number_as_typed(planted):
    # 0.35 as float32 is 0.3499999..., which widened is not at least 0.35; `is` compares as float32.
    assert matching(*planted, [Filter("color_shift", "at least", "0.35")]).tolist() == [5]


def test_filters_are_combined_by_and(planted):
    both = [Filter("breed", "is", "pug"), Filter("width_px", "at least", "20")]
    assert matching(*planted, both).tolist() == [1, 4]


@pytest.mark.parametrize(
    ("column", "operator", "value"),
    [
        ("nonsense", "is", "1"),
        ("image", "is empty", ""),
        ("breed", "like", "x"),
        ("breed", "at least", "3"),
        ("width_px", "at least", "three"),
        ("width_px", "at least", "nan"),
        ("color_shift", "is", "x"),
        ("keep", "is", "perhaps"),
        ("subject_box", "contains", "1"),
        ("subject_box", "is", "1"),
        ("../../etc/passwd", "is", "x"),
    ],
)
def test_a_filter_that_means_nothing_names_its_column(planted, column, operator, value):
    with pytest.raises(FilterError) as refused:
        matching(*planted, [Filter(column, operator, value)])
    assert column in str(refused.value) or operator in str(refused.value)


def test_too_many_filters_are_refused(planted):
    with pytest.raises(FilterError, match=str(MAX_FILTERS)):
        matching(*planted, [Filter("breed", "is", "pug")] * (MAX_FILTERS + 1))


def test_every_row_stands_on_exactly_one_page(gallery):
    columns, seen = Columns(), []
    first = row_page(columns, gallery.store, gallery.dataset, [], 1)
    for number in range(1, first.pages + 1):
        page = row_page(columns, gallery.store, gallery.dataset, [], number)
        assert len(page.rows) <= PAGE_ROWS
        seen += [row["row"] for row in page.rows]
    assert seen == list(range(gallery.dataset.rows))
    beyond = row_page(columns, gallery.store, gallery.dataset, [], 10**9)
    assert beyond.number == first.pages
    assert row_page(columns, gallery.store, gallery.dataset, [], -5).number == 1


def test_every_small_column_of_a_real_dataset_can_be_filtered(gallery):
    columns = Columns()
    for name in column_help(gallery.dataset):
        empty = matching(columns, gallery.store, gallery.dataset, [Filter(name, "is empty")])
        full = matching(columns, gallery.store, gallery.dataset, [Filter(name, "is not empty")])
        assert sorted([*empty, *full]) == list(range(gallery.dataset.rows)), name
    assert len(OPERATORS) == 7


def test_a_group_with_other_rows_cannot_be_filtered(planted):
    columns, store, dataset = planted
    texts = pa.table({"text_id": ["a", "b"], "text": ["x", "y"]}, schema=arrow_schema(["text_id", "text"]))
    file = write_file(store, "planted/texts/1", "merged", texts).file
    group = Group(name="texts", group_id="1", columns=["text_id", "text"], merged=file)
    encoded = dataset.model_copy(update={"groups": {**dataset.groups, "texts": group}})
    assert "text" not in column_help(encoded)
    with pytest.raises(FilterError, match="text"):
        matching(columns, store, encoded, [Filter("text", "is", "x")])


def test_columns_are_read_once_and_shared_between_datasets(gallery, monkeypatch):
    import pipelines.lineage.console.columns as module

    reads = []
    real = module.read_table
    monkeypatch.setattr(module, "read_table", lambda s, d, names: reads.append(names) or real(s, d, names))
    columns = Columns()
    for dataset in (gallery.made[-1], gallery.made[1], gallery.made[-1]):
        table = columns.table(gallery.store, dataset, ["image_id", "caption"])
        assert table.num_rows == dataset.rows
    assert reads == [["image_id", "caption"]]
    assert np.array_equal(matching(columns, gallery.store, gallery.dataset, []), range(gallery.dataset.rows))
