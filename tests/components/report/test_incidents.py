import pyarrow as pa

from components.report.incidents import duplicate_clusters, error_kinds
from components.report.photos import kept_examples


def test_errors_are_grouped_by_step_and_message_with_the_first_file_as_example():
    rows = pa.table(
        {
            "image_id": ["0", "1", "2", "3"],
            "source_uri": ["a.jpg", "b.jpg", "c.jpg", None],
            "ingest_error": [None, "empty", None, "empty"],
            "quality_error": ["truncated", None, None, None],
            "foreground_error": pa.nulls(4, pa.string()),
        }
    )
    kinds, others = error_kinds(rows, limit=1)
    assert [(k.step, k.message, k.rows, k.example) for k in kinds] == [("ingest", "empty", 2, "b.jpg")]
    assert others == 1


def test_the_largest_clusters_come_first_with_some_of_their_copies():
    rows = pa.table({"image_id": list("abcdef"), "duplicate_of": [None, "a", "x", "a", "a", None]})
    clusters = duplicate_clusters(rows, clusters=5, copies=2)
    assert [(c.original, c.copies, c.total) for c in clusters] == [("a", (1, 3), 3), ("x", (2,), 1)]
    assert duplicate_clusters(rows.select(["image_id"]), 5, 2) == []


def test_kept_examples_come_from_many_breeds_and_only_from_kept_rows():
    rows = pa.table(
        {"breed": ["b", "a", "c", "b", None, "a"] * 20, "keep": [True, True, True, False, True, False] * 20}
    )
    picked = kept_examples(rows, 8)
    assert len(picked) == len(set(picked)) == 8
    assert all(rows["keep"][i].as_py() for i in picked)
    assert {rows["breed"][i].as_py() for i in picked} == {"a", "b", "c", None}
    assert kept_examples(rows.filter(pa.array([False] * 120)), 8) == []
