"""Random places to train the segmenter on."""

import numpy as np

from pipelines.demo.scenery import scenery


def test_a_seed_gives_one_place_and_seeds_give_different_ones() -> None:
    places = [scenery(64, np.random.default_rng(seed)) for seed in range(12)]
    for seed, place in enumerate(places):
        assert place.shape == (64, 64, 3) and place.dtype == np.float32
        assert np.array_equal(place, scenery(64, np.random.default_rng(seed)))
    apart = [np.abs(a - b).mean() for i, a in enumerate(places) for b in places[:i]]
    assert min(apart) > 5


def test_places_are_muted_and_neither_black_nor_white() -> None:
    for seed in range(60):
        place = np.clip(scenery(64, np.random.default_rng(seed)), 0, 255)
        assert 45 < place.mean() < 250
        assert (place.max(2) - place.min(2)).mean() < 70


def test_skies_and_grounds_range_over_light_and_dark() -> None:
    places = [scenery(64, np.random.default_rng(seed)) for seed in range(80)]
    for rows in (slice(0, 12), slice(52, 64)):
        means = np.stack([place[rows].mean((0, 1)) for place in places])
        assert (means.std(0) > 25).all() and (means.min(0) < 110).all() and (means.max(0) > 200).all()
