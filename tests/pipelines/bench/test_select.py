"""The synthetic rows exercise every rule; the process of its own selects as the function does."""

import pytest

from components.data.shards import read_table
from components.data.storage import open_store
from components.selection.options import SelectionOptions
from components.selection.rules import needed_columns
from components.selection.step import count, select
from pipelines.bench.places import local_folder
from pipelines.bench.rows import scored_dataset, scored_rows
from pipelines.bench.select import bench_select, extrapolate
from pipelines.bench.select_process import measure


def test_every_strict_rule_rejects_some_rows_and_a_tenth_passes():
    counters = count(select(scored_rows(5000), SelectionOptions()))
    rules = {name.removeprefix("reason_") for name in counters if name.startswith("reason_")}
    assert rules >= {
        "min_side_px",
        "laplacian_variance",
        "color_shift",
        "clip_similarity",
        "foreground_ratio",
        "caption_words_min",
        "caption_words_max",
        "caption_vague",
        "caption_truncated",
        "duplicate_exact",
        "duplicate_near",
    }
    assert 0.02 < counters["kept"] / 5000 < 0.2


def test_stored_rows_are_read_back_from_the_merged_files(tmp_path):
    store = open_store(str(tmp_path))
    table = scored_rows(300)
    names = needed_columns(SelectionOptions())
    assert read_table(store, scored_dataset(store, table), names).equals(table.select(names))


def test_the_measured_process_keeps_the_rows_that_the_function_keeps(tmp_path):
    table = scored_rows(500)
    dataset = scored_dataset(open_store(str(tmp_path)), table)
    figures = measure(str(tmp_path), dataset, rounds=2)
    assert figures["rows"] == 500
    assert figures["kept"] == sum(select(table, SelectionOptions()).column("keep").to_pylist()) > 0
    assert min(figures.values()) > 0


def test_growth_is_a_constant_and_a_cost_per_row():
    cost = {size: 3 + 2e-6 * size for size in (100_000, 1_000_000, 10_000_000)}
    assert extrapolate([100_000, 1_000_000], [cost[100_000], cost[1_000_000]], 10_000_000) == pytest.approx(
        cost[10_000_000]
    )


def test_the_report_compares_sizes_and_has_the_targets_of_the_largest():
    report = bench_select(sizes=(1000, 100, 300), rounds=1, places={"local": local_folder})
    targets = {figure.name: (figure.target, figure.at_least) for figure in report.figures if figure.target}
    assert targets == {
        "local, 1,000 rows: in memory": (100, False),
        "local, 1,000 rows: read and select": (1, False),
        "local, 1,000 rows: whole step, result stored": (1, False),
        "local, 1,000 rows: peak memory": (1000, False),
    }
    assert {f"local, {size} rows: step" for size in ("100", "300", "1,000")} <= {
        f.name for f in report.figures
    }
    assert "local, 10,000,000 rows by growth: step" in {figure.name for figure in report.figures}
