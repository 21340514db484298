"""Laplacian variance: closed forms, equality to float64, and what must not change it."""

import io
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from components.data.images import decode_grey
from components.quality.blur import fit_area, laplacian_variance, laplacian_variance_fixed
from components.quality.resolution import fit_long_side


def test_an_impulse_has_its_closed_form():
    # Response -4a at the impulse and a at its 4 neighbours: sum 0, squares 20 a^2.
    grey = np.zeros((10, 20), np.uint8)
    grey[5, 8] = 50
    assert laplacian_variance(grey) == 20 * 50**2 / 200


def test_a_checkerboard_has_its_closed_form():
    # Every pixel differs from its 4 neighbours by +-d, at mirrored borders too: response +-4d, mean 0.
    y, x = np.mgrid[0:8, 0:8]
    grey = np.where((x + y) % 2, 200, 50).astype(np.uint8)
    assert laplacian_variance(grey) == (4 * 150) ** 2


def test_the_extreme_checkerboard_does_not_wrap_around():
    y, x = np.mgrid[0:64, 0:64]
    assert laplacian_variance(((x + y) % 2 * 255).astype(np.uint8)) == 1020**2


def test_a_ramp_responds_only_at_its_mirrored_borders():
    # Slope s: the border columns see 2s and -2s, the rest 0.
    grey = np.tile(np.arange(0, 100, 5, dtype=np.uint8), (7, 1))
    assert laplacian_variance(grey) == 2 * 10**2 / 20


def test_a_flat_picture_is_zero():
    assert laplacian_variance(np.full((5, 5), 77, np.uint8)) == 0


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (480, 333), (1200, 1601)])
def test_int16_equals_float64_on_noise(shape: tuple[int, int]):
    grey = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    exact = cv2.Laplacian(grey, cv2.CV_64F, ksize=1).var()
    assert laplacian_variance(grey) == pytest.approx(exact, rel=1e-12)


def test_int16_equals_float64_on_photos(shared_data: Path):
    photos = sorted((shared_data / "dreambooth_dogs_hires").rglob("*.jpg"))[::6]
    assert len(photos) > 4
    for path in photos:
        grey = decode_grey(path.read_bytes())
        exact = cv2.Laplacian(grey, cv2.CV_64F, ksize=1).var()
        assert laplacian_variance(grey) == pytest.approx(exact, rel=1e-12), path.name


def test_turning_a_picture_changes_nothing():
    grey = np.random.default_rng(1).integers(0, 256, (40, 70), dtype=np.uint8)
    wanted = laplacian_variance(grey)
    for turned in (np.rot90(grey), grey[::-1], grey.T):
        assert laplacian_variance(np.ascontiguousarray(turned)) == wanted


def test_a_blurred_photo_scores_lower(shared_data: Path):
    path = sorted((shared_data / "dreambooth_dogs_hires").rglob("*.jpg"))[0]
    grey = decode_grey(path.read_bytes())
    scores = [laplacian_variance(grey)] + [
        laplacian_variance(cv2.GaussianBlur(grey, (0, 0), s)) for s in (1, 2, 4)
    ]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 10 * scores[-1]


def test_noise_under_zero_alpha_does_not_count():
    noise = np.random.default_rng(2).integers(0, 256, (64, 64, 4), dtype=np.uint8)
    noise[:, :, 3] = 0
    file = io.BytesIO()
    Image.fromarray(noise).save(file, "PNG")
    assert laplacian_variance(decode_grey(file.getvalue())) == 0


def test_the_fixed_score_is_the_score_of_the_area_average():
    grey = np.random.default_rng(3).integers(0, 256, (400, 600), dtype=np.uint8)
    small = np.rint(grey.reshape(200, 2, 300, 2).mean((1, 3)) + 1e-9).astype(np.uint8)  # halves round up
    assert laplacian_variance_fixed(grey, 300) == laplacian_variance(small)


def test_large_pictures_are_halved_by_means_first():
    # 601 x 1201 -> 300 x 600 -> 150 x 300 (still over three times 99) -> 75 x 150 -> INTER_AREA to 99.
    grey = np.random.default_rng(5).integers(0, 256, (601, 1201), dtype=np.uint8)
    small = grey
    for h, w in ((300, 600), (150, 300), (75, 150)):
        means = small[: 2 * h, : 2 * w].reshape(h, 2, w, 2).mean((1, 3))
        small = np.floor(means + 0.5).astype(np.uint8)
    np.testing.assert_array_equal(fit_area(grey, 150), small)
    wanted = cv2.resize(small, (99, 50), interpolation=cv2.INTER_AREA)
    np.testing.assert_array_equal(fit_area(grey, 99), wanted)


def test_halving_makes_the_fixed_score_no_less_stable_over_sizes(shared_data: Path):
    """One scene at many sizes: the log of its score scatters no more than with a single INTER_AREA."""
    target, scatter, plain = 192, [], []
    for path in sorted((shared_data / "dreambooth_dogs_hires").rglob("*.jpg"))[::4]:
        with Image.open(path) as image:
            image = image.convert("L")
        sides = [s for s in (230, 260, 300, 340, 390, 450, 520, 600, 700, 800, 900) if s < max(image.size)]
        if len(sides) < 8:
            continue
        logs = []
        for side in sides:
            size = fit_long_side(*image.size, side)
            grey = np.asarray(image.resize(size, Image.Resampling.LANCZOS))
            once = cv2.resize(grey, fit_long_side(*size, target), interpolation=cv2.INTER_AREA)
            logs.append(np.log([laplacian_variance_fixed(grey, target), laplacian_variance(once)]))
        ours, single = np.std(logs, axis=0)
        scatter.append(ours)
        plain.append(single)
    assert len(scatter) >= 4
    assert np.mean(scatter) < np.mean(plain) < 0.2


def test_a_line_of_pixels_is_fitted():
    assert fit_area(np.zeros((1, 5000), np.uint8), 100).shape == (1, 100)


def test_the_fixed_score_does_not_enlarge():
    grey = np.random.default_rng(4).integers(0, 256, (30, 20), dtype=np.uint8)
    assert laplacian_variance_fixed(grey, 512) == laplacian_variance(grey)


def test_the_fixed_score_compares_sizes_better_than_the_native_one(shared_data: Path):
    path = sorted((shared_data / "dreambooth_dogs_hires").rglob("*.jpg"))[0]
    grey = decode_grey(path.read_bytes())
    sizes = [cv2.resize(grey, (s, s), interpolation=cv2.INTER_AREA) for s in (700, 600, 500, 400)]
    native = [laplacian_variance(g) for g in sizes]
    fixed = [laplacian_variance_fixed(g, 256) for g in sizes]
    assert max(fixed) / min(fixed) < max(native) / min(native)


@pytest.mark.parametrize("wrong", [np.zeros((4, 4), np.float32), np.zeros((4, 4, 3), np.uint8)])
def test_other_pixels_are_refused(wrong: np.ndarray):
    with pytest.raises(ValueError, match="uint8 luma"):
        laplacian_variance(wrong)
