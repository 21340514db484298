"""Perceptual hash: near for the same photo, far for different ones, and the bits by scipy's DCT."""

import io
from itertools import combinations
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from scipy.fft import dctn

from components.data.images import decode_reduced
from components.quality.phash import hamming, phash


def jpeg(image: Image.Image, quality: int) -> bytes:
    file = io.BytesIO()
    image.convert("RGB").save(file, "JPEG", quality=quality)
    return file.getvalue()


def photos(shared_data: Path) -> list[Path]:
    return sorted((shared_data / "watson_dogs_cc").rglob("*.jpg"))[::3]


def test_hamming_counts_bits():
    assert hamming(0, 2**64 - 1) == 64
    assert hamming(0b1011, 0b0110) == 3
    assert hamming(5, 5) == 0


def test_the_bits_are_those_of_scipys_dct():
    rng = np.random.default_rng(0)
    rgb = cv2.resize(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8), (32, 32), interpolation=cv2.INTER_CUBIC)
    block = dctn(rgb @ np.array([0.299, 0.587, 0.114]), norm="ortho")[1:9, 1:9].ravel()
    wanted = sum(1 << (63 - i) for i, c in enumerate(block) if c > np.median(block))
    assert phash(rgb) == wanted
    assert wanted.bit_count() == 32


@pytest.mark.parametrize("level", [0, 31, 128, 255])
def test_a_picture_without_content_hashes_to_zero(level: int):
    assert phash(np.full((77, 130, 3), level, np.uint8)) == 0


def test_brightness_and_contrast_do_not_count():
    rng = np.random.default_rng(1)
    rgb = cv2.resize(
        rng.integers(60, 160, (6, 6, 3), dtype=np.uint8), (96, 96), interpolation=cv2.INTER_CUBIC
    )
    assert hamming(phash(rgb), phash(rgb + 40)) <= 1
    assert hamming(phash(rgb), phash((rgb * 0.6).astype(np.uint8))) <= 4


def test_reencoding_and_resizing_keep_a_photo_near(shared_data: Path):
    for path in photos(shared_data):
        original = phash(decode_reduced(path.read_bytes(), 128))
        with Image.open(path) as image:
            image = image.convert("RGB")
            for quality in (95, 60, 30):
                assert hamming(original, phash(decode_reduced(jpeg(image, quality), 128))) <= 4, path.name
            for scale in (0.7, 0.45):
                size = (round(image.width * scale), round(image.height * scale))
                small = jpeg(image.resize(size, Image.Resampling.LANCZOS), 90)
                assert hamming(original, phash(decode_reduced(small, 128))) <= 6, path.name


def test_different_photos_are_far(shared_data: Path):
    hashes = [phash(decode_reduced(path.read_bytes(), 128)) for path in photos(shared_data)]
    distances = [hamming(a, b) for a, b in combinations(hashes, 2)]
    assert min(distances) > 8
    assert np.mean(distances) == pytest.approx(32, abs=2)


def test_a_mirrored_photo_is_another_picture(shared_data: Path):
    rgb = decode_reduced(photos(shared_data)[0].read_bytes(), 128)
    assert hamming(phash(rgb), phash(np.ascontiguousarray(rgb[:, ::-1]))) > 16
