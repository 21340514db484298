"""Planted backgrounds: sheets and falloffs of grey are plain, colours and textures are not."""

import cv2
import numpy as np
import pytest

from components.foreground.background import background_plain, measure_background

HEIGHT, WIDTH = 300, 400


def disc() -> np.ndarray:
    rows, columns = np.ogrid[:HEIGHT, :WIDTH]
    return (rows - 160) ** 2 + (columns - 200) ** 2 < 90**2


def scene(background: np.ndarray, seed: int = 1) -> np.ndarray:
    """A noisy subject before a (H, W, 3) background, as a JPEG would bring it."""
    subject = np.random.default_rng(seed).integers(0, 256, (HEIGHT, WIDTH, 3))
    picture = np.where(disc()[..., None], subject, background).astype(np.uint8)
    return cv2.imdecode(cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 90])[1], cv2.IMREAD_COLOR)


def flat(*rgb: int) -> np.ndarray:
    return np.broadcast_to(np.array(rgb), (HEIGHT, WIDTH, 3)).astype(float)


def falloff(low: int, high: int) -> np.ndarray:
    return np.repeat(np.linspace(low, high, WIDTH)[None, :, None], HEIGHT, axis=0) * np.ones(3)


@pytest.mark.parametrize(
    "background",
    [flat(128, 128, 128), flat(250, 250, 250), flat(12, 12, 12), flat(140, 135, 128), falloff(100, 170)],
    ids=["grey", "white", "black", "warm grey", "studio falloff"],
)
def test_sheets_near_grey_are_plain(background):
    assert background_plain(scene(background), disc()) is True


def test_sensor_noise_does_not_make_a_sheet_busy():
    noise = np.random.default_rng(7).normal(0, 4, (HEIGHT, WIDTH, 3))
    assert background_plain(scene(flat(150, 150, 150) + noise), disc()) is True


@pytest.mark.parametrize(
    "color", [(90, 160, 70), (120, 170, 230), (200, 160, 110)], ids=["lawn", "sky", "wood"]
)
def test_an_even_colour_is_even_but_not_plain(color):
    measured = measure_background(scene(flat(*color)), disc())
    assert measured.even
    assert not measured.plain


def stripes() -> np.ndarray:
    return np.where((np.arange(WIDTH) // 20 % 2)[None, :, None], 150.0, 90.0) * np.ones((HEIGHT, 1, 3))


def two_walls() -> np.ndarray:
    return np.where(np.arange(WIDTH)[None, :, None] < 200, 70.0, 190.0) * np.ones((HEIGHT, 1, 3))


def leaves() -> np.ndarray:
    blobs = cv2.GaussianBlur(np.random.default_rng(9).normal(size=(HEIGHT, WIDTH)), (0, 0), 4)
    return 120 + 60 * np.sign(blobs)[..., None] * np.ones(3)


@pytest.mark.parametrize(
    "background", [stripes(), two_walls(), leaves()], ids=["stripes", "two walls", "leaves"]
)
def test_textures_are_not_plain_even_in_grey(background):
    assert background_plain(scene(background), disc()) is False


def test_the_subject_itself_does_not_count():
    sheet = flat(128, 128, 128)
    measured = measure_background(scene(sheet, seed=1), disc())
    other = measure_background(scene(sheet, seed=2), disc())
    assert measured.color_std < 1.5
    assert other.plain
    assert background_plain(scene(sheet), np.roll(disc(), 150, axis=1)) is False


def test_the_verdict_does_not_depend_on_resolution():
    for background in (falloff(100, 170), leaves()):
        picture, mask = scene(background), disc()
        larger = cv2.resize(picture, None, fx=3, fy=3, interpolation=cv2.INTER_CUBIC)
        larger_mask = cv2.resize(mask.astype(np.uint8), None, fx=3, fy=3, interpolation=cv2.INTER_NEAREST) > 0
        assert background_plain(larger, larger_mask) == background_plain(picture, mask)


def test_a_subject_that_fills_the_picture_leaves_nothing_to_measure():
    assert background_plain(scene(flat(128, 128, 128)), np.ones((HEIGHT, WIDTH), bool)) is None


def test_statistics_of_a_flat_sheet_are_those_of_its_colour():
    measured = measure_background(flat(119, 119, 119).astype(np.uint8), np.zeros((HEIGHT, WIDTH), bool))
    assert measured.share == 1.0
    assert (measured.lightness_std, measured.color_std, measured.slope) == pytest.approx((0, 0, 0), abs=1e-3)
    assert measured.chroma == pytest.approx(0, abs=0.1)
