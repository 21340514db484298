"""Score scopes: what they leave out, what a selection may ask for, and what a wider one costs."""

import numpy as np
import pytest

from components.data.shards import read_table
from components.data.storage import open_store
from components.selection.rules import ScopeError
from pipelines.runners.bare import run_step

# Wide open but for sharpness, so that the scope alone decides who has scores.
OPEN = {
    "min_side_px": 0,
    "color_shift": 1.0,
    "caption_words_min": 0,
    "caption_words_max": 0,
    "caption_vague": False,
    "caption_truncated": False,
    "duplicate_exact": False,
    "duplicate_near": False,
    "breed_required": False,
}


@pytest.fixture
def seen(monkeypatch):
    """Pictures that CLIP and SAM have looked at."""
    from components.foreground.sam_segmenter import SamSegmenter
    from components.model.clip import ClipModel

    counts = {"similarity": 0, "foreground": 0}
    embed, segment = ClipModel.embed_images, SamSegmenter.segment

    def embed_images(self, images, *arguments, **options):
        counts["similarity"] += len(images)
        return embed(self, images, *arguments, **options)

    def segment_images(self, images, prompts):
        counts["foreground"] += len(images)
        return segment(self, images, prompts)

    monkeypatch.setattr(ClipModel, "embed_images", embed_images)
    monkeypatch.setattr(SamSegmenter, "segment", segment_images)
    return counts


@pytest.fixture
def dataset(photo_source, models, tmp_path, check):
    """(data root, made manifests up to duplicates, a function that scores with a sharpness scope)."""
    uri = (tmp_path / "root").as_uri()
    chain = {step.name: step for step in check.curation(photo_source, models)}
    made = {}
    for name in ("ingest", "captions", "quality", "duplicates"):
        step = chain[name]
        made[name] = run_step(name, [made[each].path for each in step.inputs], uri, step.options)

    def score(bound):
        last = made["duplicates"]
        for name in ("similarity", "foreground"):
            options = {**chain[name].options, "scope_laplacian_variance": bound}
            last = run_step(name, [last.path], uri, options)
        return last

    return uri, made["duplicates"], score


def sharpness(uri, dataset) -> np.ndarray:
    """(N,) NaN for rows that could not be decoded."""
    values = read_table(open_store(uri), dataset, ["laplacian_variance"]).column(0).to_pylist()
    return np.array(values, float)


def select(uri, dataset, **options):
    # Models with random weights: any score is fine, as long as there is one.
    thresholds = {**OPEN, "clip_similarity": -0.999, "foreground_ratio": 1e-9, **options}
    return run_step("selection", [dataset.path], uri, thresholds)


def distinct(uri, dataset, rows) -> int:
    ids = read_table(open_store(uri), dataset, ["image_id"]).column(0).to_pylist()
    return len({ids[row] for row in np.flatnonzero(rows)})


def test_rows_outside_the_scope_have_no_score_and_name_the_rule(dataset, seen):
    uri, before, score = dataset
    sharp = sharpness(uri, before)
    bound = float(np.nanmedian(sharp))
    scored = score(bound)
    columns = ["clip_similarity", "similarity_skipped_by", "foreground_ratio", "foreground_skipped_by"]
    rows = read_table(open_store(uri), scored, columns).to_pylist()
    for row, value in zip(rows, sharp, strict=True):
        rule = "undecodable" if np.isnan(value) else "laplacian_variance" if value < bound else None
        assert row["similarity_skipped_by"] == row["foreground_skipped_by"] == rule
        assert (row["clip_similarity"] is None) == (rule is not None)
        assert row["foreground_ratio"] is None or rule is None
    inside = distinct(uri, before, sharp >= bound)
    assert seen == {"similarity": inside, "foreground": inside}
    assert 0 < inside < len(rows) - 5


def test_tighter_selections_compute_nothing_and_a_looser_one_names_the_backfill(dataset, seen):
    uri, before, score = dataset
    sharp = sharpness(uri, before)
    bound = float(np.nanmedian(sharp))
    scored = score(bound)
    seen.update(similarity=0, foreground=0)
    previous = len(sharp)
    for tighter in (bound, float(np.nanquantile(sharp, 0.7)), float(np.nanquantile(sharp, 0.9))):
        counters = select(uri, scored, laplacian_variance=tighter).counters
        assert counters["kept"] + counters["rejected"] + counters["errors"] == len(sharp)
        assert counters["kept"] < previous
        previous = counters["kept"]
    looser = float(np.nanquantile(sharp, 0.2))
    left_out = int(np.sum((sharp >= looser) & (sharp < bound)))
    with pytest.raises(ScopeError, match="--backfill") as caught:
        select(uri, scored, laplacian_variance=looser)
    assert f"similarity.scope_laplacian_variance leaves out {left_out}" in str(caught.value)
    assert seen == {"similarity": 0, "foreground": 0}


def test_a_wider_scope_scores_only_the_new_rows_and_satisfies_the_selection(dataset, seen):
    uri, before, score = dataset
    sharp = sharpness(uri, before)
    bound, looser = float(np.nanmedian(sharp)), float(np.nanquantile(sharp, 0.2))
    narrow = score(bound)
    seen.update(similarity=0, foreground=0)
    wide = score(looser)
    new = distinct(uri, before, sharp >= looser) - distinct(uri, before, sharp >= bound)
    assert new > 3
    assert seen == {"similarity": new, "foreground": new}
    counters = select(uri, wide, laplacian_variance=looser).counters
    assert counters["errors"] == int(np.isnan(sharp).sum())
    assert counters.get("reason_laplacian_variance", 0) >= int(np.sum(sharp < looser))
    # Scores that both scopes have are the same, and a scope is part of an id.
    first, second = (
        np.array(read_table(open_store(uri), scored, ["clip_similarity"]).column(0).to_pylist(), float)
        for scored in (narrow, wide)
    )
    both = ~np.isnan(first)
    np.testing.assert_allclose(second[both], first[both], rtol=0, atol=1e-6)
    assert narrow.id != wide.id


def test_going_back_to_the_narrow_scope_computes_nothing(dataset, seen):
    uri, before, score = dataset
    bound = float(np.nanmedian(sharpness(uri, before)))
    narrow = score(bound)
    score(0.0)
    seen.update(similarity=0, foreground=0)
    assert score(bound) == narrow
    assert seen == {"similarity": 0, "foreground": 0}
