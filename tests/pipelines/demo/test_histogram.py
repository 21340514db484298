"""Breeds of one palette are equal in colour; a colour histogram tells palettes and nothing more."""

import cv2
import numpy as np
import pytest

from pipelines.demo.breeds import BREEDS, palette_pairs
from pipelines.demo.histogram import HistogramBaseline, lab_histogram
from pipelines.demo.palettes import PALETTES
from pipelines.demo.render import render
from pipelines.demo.spec import breed_spec

TRAIN, TEST = 40, 40


def pictures(breed: str, count: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng([seed, list(BREEDS).index(breed)])
    return [render(breed_spec(breed, rng), 64)[0] for _ in range(count)]


@pytest.fixture(scope="module")
def known() -> dict[str, list[np.ndarray]]:
    return {breed: pictures(breed, TRAIN, 1) for breed in BREEDS}


@pytest.fixture(scope="module")
def unknown() -> dict[str, list[np.ndarray]]:
    return {breed: pictures(breed, TEST, 2) for breed in BREEDS}


def fit(known: dict[str, list[np.ndarray]], breeds: list[str]) -> HistogramBaseline:
    images = [image for breed in breeds for image in known[breed]]
    return HistogramBaseline.fit(images, [breed for breed in breeds for _ in known[breed]])


def test_there_are_eight_breeds_in_pairs_of_one_palette() -> None:
    assert len(BREEDS) >= 8
    assert len(palette_pairs()) >= 2
    for a, b in palette_pairs():
        assert PALETTES[BREEDS[a].palette] is PALETTES[BREEDS[b].palette]
        shapes = ("ears", "muzzle", "legs", "tail", "coat")
        assert [getattr(BREEDS[a], name) for name in shapes] != [getattr(BREEDS[b], name) for name in shapes]


def test_no_two_breeds_look_the_same() -> None:
    looks = {(b.ears, b.muzzle, b.legs, b.tail, b.coat, b.palette) for b in BREEDS.values()}
    assert len(looks) == len(BREEDS)


def test_the_baseline_is_near_chance_within_a_pair(
    known: dict[str, list[np.ndarray]], unknown: dict[str, list[np.ndarray]]
) -> None:
    right = []
    for a, b in palette_pairs():
        baseline = fit(known, [a, b])
        right += [guess == breed for breed in (a, b) for guess in baseline.predict(unknown[breed])]
    # 320 pictures: chance is .50 +- .028
    assert 0.38 < np.mean(right) < 0.62


def test_the_baseline_tells_palettes_apart(
    known: dict[str, list[np.ndarray]], unknown: dict[str, list[np.ndarray]]
) -> None:
    baseline = fit(known, list(BREEDS))
    right = [
        BREEDS[guess].palette == BREEDS[breed].palette
        for breed in BREEDS
        for guess in baseline.predict(unknown[breed])
    ]
    assert np.mean(right) > 0.75


def test_a_flat_picture_fills_the_one_bin_of_its_colour() -> None:
    flat = np.full((8, 8, 3), (200, 60, 40), np.uint8)
    histogram = lab_histogram(flat).reshape(6, 12, 12)
    lightness, a, b = cv2.cvtColor(flat[:1, :1].astype(np.float32) / 255, cv2.COLOR_RGB2LAB)[0, 0]
    place = int(lightness / (100 / 6)), int((a + 64) / (128 / 12)), int((b + 64) / (128 / 12))
    assert histogram[place] == 1 and histogram.sum() == 1


def test_the_nearest_mean_under_the_hellinger_distance_is_predicted() -> None:
    red, blue = np.zeros((4, 4, 3), np.uint8), np.zeros((4, 4, 3), np.uint8)
    red[..., 0], blue[..., 2] = 220, 220
    mostly_red = red.copy()
    mostly_red[0] = blue[0]
    baseline = HistogramBaseline.fit([blue, red], ["b", "r"])
    assert baseline.predict([red, blue, mostly_red]) == ["r", "b", "r"]


def test_images_and_labels_must_pair_up() -> None:
    with pytest.raises(ValueError, match="0 images and 1 labels"):
        HistogramBaseline.fit([], ["a"])
