"""The contenders of the quality benchmark score the same photos the same."""

import cv2
import numpy as np
import pytest

from components.data.images import decode, decode_grey
from components.data.storage import open_store
from components.quality.blur import laplacian_variance
from pipelines.bench.photos import photo, photo_dataset, photos
from pipelines.bench.quality import bare_decode, bench_quality, blur_scores, peer_scores, step_scores

SIZE = (160, 120)


def test_a_photo_has_the_size_and_weight_of_the_reference():
    data = photo(np.random.default_rng(0))
    assert decode(data).shape == (1200, 1600, 3)
    assert 330_000 < len(data) < 420_000


def test_photos_repeat_in_turn_and_depend_on_the_seed():
    drawn = photos(5, 2, 0, *SIZE)
    assert drawn[0] == drawn[2] == drawn[4] != drawn[1]
    assert drawn == photos(5, 2, 0, *SIZE) != photos(5, 2, 1, *SIZE)


def test_all_contenders_score_every_photo_and_agree(tmp_path):
    images = photos(7, 7, 0, *SIZE)
    store = open_store(str(tmp_path))
    dataset = photo_dataset(store, images, shard_rows=4)
    exact = [laplacian_variance(decode_grey(image)) for image in images]
    assert blur_scores(store, dataset, 1) == blur_scores(store, dataset, 2) == exact
    assert step_scores(tmp_path, dataset, 2, "run") == pytest.approx(exact, rel=1e-6)  # stored as float32
    # PIL's luma is rounded once more, from RGB that chroma has moved: near, not equal.
    assert peer_scores(store, dataset, 2) == pytest.approx(exact, rel=0.05)
    float64 = [cv2.Laplacian(decode_grey(image), cv2.CV_64F).var() for image in images]
    assert exact == pytest.approx(float64, rel=1e-12)
    assert bare_decode(images, 2) == [160 * 120] * 7


def test_the_report_holds_rates_ratios_and_targets():
    report = bench_quality(rows=4, rounds=1, workers=2, distinct=2, width_px=160, height_px=120)
    targets = {figure.name: figure.target for figure in report.figures if figure.target is not None}
    assert targets == {
        "blur / PIL + CV_64F": 2.5,
        "blur / bare grey decode": 65,
        "blur, 2 threads / 1": 1.7,
    }
    assert all(np.isfinite(figure.value) and figure.value > 0 for figure in report.figures)
    expected = report.value("blur scores") / report.value("PIL + CV_64F")
    assert report.value("blur / PIL + CV_64F") == pytest.approx(expected)
    assert report.conditions["photos"] == 4
