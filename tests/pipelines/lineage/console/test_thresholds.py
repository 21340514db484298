"""The explorer's numbers are those of the real selection."""

import numpy as np
import pyarrow as pa
import pytest

from components.data.options import OptionError
from components.data.storage import open_store
from components.data.task import Task
from components.report.data import ReportError
from components.selection import step
from components.selection.options import SelectionOptions
from components.selection.rules import ScopeError, needed_columns
from pipelines.bench.rows import scored_dataset, scored_rows
from pipelines.lineage.console.columns import Columns
from pipelines.lineage.console.thresholds import OFF, RULES, Explorer, changed

ROWS = 6000
BASE = SelectionOptions(breed_cap=20)
# One for every option, and some that work on each other.
CHANGES = [
    {},
    {"min_side_px": 0},
    {"min_side_px": 2000},
    {"laplacian_variance": 55.5},
    {"color_shift": 1.0},
    {"color_shift": 0.1},
    {"clip_similarity": 0.31},
    {"clip_similarity": -1.0},
    {"clip_similarity_fraction": 0.4},
    {"clip_similarity": 0.33, "clip_similarity_fraction": 0.4},
    {"foreground_ratio": 0.2},
    {"foreground_ratio": 0.0},
    {"caption_words_min": 0, "caption_words_max": 0},
    {"caption_words_min": 20},
    {"caption_words_max": 20},
    {"caption_vague": False},
    {"caption_truncated": False},
    {"duplicate_exact": False},
    {"duplicate_near": False, "duplicate_exact": False},
    {"licenses": ["CC-BY-*"]},
    {"licenses": ["CC0-1.0"], "license_unknown": False},
    {"sources": ["CLUB"]},
    {"breed_required": False},
    {"breed_confidence": 0.2},
    {"breed_cap": 0},
    {"breed_cap": 1},
    {"breed_cap": 5, "foreground_ratio": 0.0, "laplacian_variance": 0.0},
    {"breed_min": 6},
    {"breed_min": 7, "breed_cap": 7, "foreground_ratio": 0.3},
    {"breed_min": 10_000},
]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """(table, explorer) of synthetic rows in which every rule fails some and some lack a breed."""
    root = str(tmp_path_factory.mktemp("bench"))
    table = scored_rows(ROWS, seed=3)
    breed = pa.array([None if at % 97 == 0 else b for at, b in enumerate(table.column("breed").to_pylist())])
    table = table.set_column(table.column_names.index("breed"), "breed", breed)
    for name in ("clip_similarity", "breed_confidence", "laplacian_variance"):
        values = table.column(name).to_pylist()
        holes = pa.array([None if at % 211 == 5 else value for at, value in enumerate(values)], pa.float32())
        table = table.set_column(table.column_names.index(name), name, holes)
    quality = pa.array(["broken" if at % 301 == 7 else None for at in range(ROWS)])
    table = table.set_column(table.column_names.index("quality_error"), "quality_error", quality)
    store = open_store(root)
    dataset = step.run(Task(root), scored_dataset(store, table), options=BASE)
    return table, Explorer(Columns(), store, dataset)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: ",".join(map(str, change)) or "none")
def test_kept_rows_reasons_and_tiers_are_those_of_the_real_selection(bench, change):
    table, explorer = bench
    options = explorer.options(change)
    real = step.select(table, options)
    counters = step.count(real)
    outcome = explorer.outcome(options)
    assert np.array_equal(outcome.keep, np.asarray(real.column("keep")))
    assert np.array_equal(outcome.tier, np.asarray(real.column("tier")))
    assert outcome.failed == {
        name.removeprefix("reason_"): count for name, count in counters.items() if name.startswith("reason_")
    }
    assert explorer.tier_counts(outcome) == {0: counters["kept_tier_0"], 1: counters["kept_tier_1"]}
    assert outcome.unscored == {}


def test_any_mix_of_options_gives_what_the_real_selection_gives(bench):
    table, explorer = bench
    rng = np.random.default_rng(0)
    for _ in range(60):
        mixed = {}
        for at in rng.choice(len(CHANGES), size=4, replace=False):
            mixed.update(CHANGES[at])
        options = explorer.options(mixed)
        real = step.select(table, options)
        assert np.array_equal(explorer.outcome(options).keep, np.asarray(real.column("keep"))), mixed


def test_the_explorer_starts_with_what_the_run_kept(bench):
    table, explorer = bench
    assert explorer.base == BASE
    assert np.array_equal(explorer.before.keep, np.asarray(step.select(table, BASE).column("keep")))


def test_only_the_rule_that_changed_is_evaluated_again(bench, monkeypatch):
    _, explorer = bench
    explorer.outcome(explorer.options({"laplacian_variance": 61.0}))
    asked = []
    import pipelines.lineage.console.thresholds as module

    real = module.evaluate
    monkeypatch.setattr(module, "evaluate", lambda table, only: asked.append(only) or real(table, only))
    explorer.outcome(explorer.options({"laplacian_variance": 62.0}))
    assert [changed(OFF, only).keys() for only in asked] == [{"laplacian_variance"}]
    asked.clear()
    explorer.outcome(explorer.options({"laplacian_variance": 61.0}))
    assert asked == []


def test_rows_outside_a_scope_are_counted_where_the_real_selection_refuses(tmp_path):
    table = scored_rows(2000, seed=5)
    sharp = np.asarray(table.column("laplacian_variance"))
    skipped = sharp < 200
    for name, value in (
        ("clip_similarity", table.column("clip_similarity").to_pylist()),
        ("similarity_skipped_by", ["laplacian_variance"] * 2000),
    ):
        if name == "clip_similarity":
            column = pa.array(
                [None if skip else v for skip, v in zip(skipped, value, strict=True)], pa.float32()
            )
        else:
            column = pa.array(
                [v if skip else None for skip, v in zip(skipped, value, strict=True)], pa.string()
            )
        table = table.set_column(table.column_names.index(name), name, column)
    store = open_store(str(tmp_path))
    inside = SelectionOptions(laplacian_variance=250)
    dataset = step.run(Task(str(tmp_path)), scored_dataset(store, table), options=inside)
    explorer = Explorer(Columns(), store, dataset)
    assert explorer.before.unscored == {}
    assert explorer.before.failed == {
        name.removeprefix("reason_"): count
        for name, count in step.count(step.select(table, inside)).items()
        if name.startswith("reason_")
    }
    loose = explorer.options({"laplacian_variance": 120})
    with pytest.raises(ScopeError) as refused:
        step.select(table, loose)
    outcome = explorer.outcome(loose)
    assert str(refused.value).startswith(f"{outcome.unscored['similarity']} rows pass every cheaper rule")
    assert not outcome.keep[skipped].any(), "nobody knows about them"
    assert explorer.outcome(explorer.options({"laplacian_variance": 300})).unscored == {}


def test_the_photos_shown_are_those_closest_to_the_threshold(bench):
    table, explorer = bench
    options = explorer.options({"laplacian_variance": 150.0})
    went = np.flatnonzero(explorer.before.keep & ~explorer.outcome(options).keep)
    nearest = explorer.nearest(went, "laplacian_variance", options, 5)
    distance = np.abs(np.asarray(table.column("laplacian_variance").fill_null(0)) - 150)
    assert set(nearest) == set(went[np.argsort(distance[went])[:5]])
    spread = explorer.nearest(went, "caption_vague", options, 3)
    assert list(spread) == [went[0], went[(len(went) - 1) // 2], went[-1]]


def test_per_breed_counts_sum_to_the_kept_rows_with_a_breed(bench):
    table, explorer = bench
    breeds = np.array(table.column("breed").to_pylist(), dtype=object)
    counts = dict(zip(explorer.breed_names, explorer.per_breed(explorer.before.keep), strict=True))
    for name in ("breed_0", "breed_77"):
        assert counts[name] == int((explorer.before.keep & (breeds == name)).sum())


def test_every_rule_has_its_option_and_every_slider_its_run_value(bench):
    _, explorer = bench
    options = set(SelectionOptions.model_fields)
    assert {name for names in RULES.values() for name in names} <= options
    for slider in explorer.sliders():
        assert slider.low <= slider.value <= slider.high
        assert slider.value == getattr(BASE, slider.name)
        explorer.options({slider.name: slider.low})
        explorer.options({slider.name: slider.high})
    assert {slider.name for slider in explorer.sliders()} >= {"laplacian_variance", "foreground_ratio"}


def test_rules_whose_scores_the_dataset_lacks_cannot_be_moved(gallery):
    explorer = Explorer(Columns(), gallery.store, gallery.dataset)
    names = {slider.name for slider in explorer.sliders()}
    assert "laplacian_variance" in names
    assert not names & {"clip_similarity", "foreground_ratio", "breed_confidence", "breed_cap"}
    table = Columns().table(gallery.store, gallery.dataset, needed_columns(explorer.base))
    real = step.select(table, explorer.base)
    assert np.array_equal(explorer.before.keep, np.asarray(real.column("keep")))


@pytest.mark.parametrize(
    "change",
    [{"laplacian_variance": -1}, {"color_shift": "x"}, {"nonsense": 1}, {"clip_similarity": float("nan")}],
)
def test_impossible_options_are_refused(bench, change):
    with pytest.raises(OptionError):
        bench[1].options(change)


def test_a_dataset_without_a_selection_is_refused(gallery):
    with pytest.raises(ReportError, match="selection"):
        Explorer(Columns(), gallery.store, gallery.made[0])


def test_what_was_made_from_a_selection_is_refused_too(gallery):
    groups = {name: group for name, group in gallery.dataset.groups.items() if name != "selection"}
    later = gallery.dataset.model_copy(
        update={"groups": groups, "step": "encoding", "history": [gallery.dataset.record()]}
    )
    with pytest.raises(ReportError, match="the selection made"):
        Explorer(Columns(), gallery.store, later)


def test_no_rows_at_all_can_be_explored(tmp_path):
    store = open_store(str(tmp_path))
    dataset = step.run(Task(str(tmp_path)), scored_dataset(store, scored_rows(0)), options=SelectionOptions())
    explorer = Explorer(Columns(), store, dataset)
    assert explorer.outcome(explorer.options({"breed_min": 3, "breed_cap": 1})).keep.sum() == 0
    explorer.sliders()
