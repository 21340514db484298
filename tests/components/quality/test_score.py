"""The scores of one file are those of its parts, and a bad file is one named error."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from components.data.images import ImageError, decode, decode_grey, decode_grey_and_reduced, decode_reduced
from components.quality.blur import laplacian_variance, laplacian_variance_fixed
from components.quality.color import color_shift, reference_of
from components.quality.phash import phash
from components.quality.score import score_image, score_policy


@pytest.mark.parametrize(
    "name",
    ["exif_orientation_6.jpg", "rgb16.png", "animated.gif", "cmyk_with_profile.jpg", "xyb_profile.jpg"],
)
def test_scores_are_those_of_the_single_functions(name: str, shared_data: Path):
    data = (shared_data / "bad_inputs" / name).read_bytes()
    grey, reduced = decode_grey(data), decode_reduced(data, 96)
    assert score_image(data, fixed_side_px=200, reduced_side_px=96) == {
        "laplacian_variance": laplacian_variance(grey),
        "laplacian_variance_fixed": laplacian_variance_fixed(grey, 200),
        "color_shift": color_shift(reduced),
        "phash": phash(reduced),
    }


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "GIF"])
def test_other_formats_are_decoded_once_and_give_the_same(kind: str, monkeypatch: pytest.MonkeyPatch):
    pixels = np.random.default_rng(0).integers(0, 256, (60, 90, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    data = file.getvalue()
    wanted = decode_grey(data), decode_reduced(data, 20)
    calls = []
    module = "components.data.images"
    real = __import__(module, fromlist=["_stored"])._stored
    monkeypatch.setattr(f"{module}._stored", lambda *a: calls.append(1) or real(*a))
    for got, want in zip(decode_grey_and_reduced(data, 20), wanted, strict=True):
        np.testing.assert_array_equal(got, want)
    assert calls == [1]


def test_blur_and_colour_of_a_made_picture_are_the_closed_forms():
    y, x = np.mgrid[0:40, 0:40]
    grey = np.where((x + y) % 2, 140, 110).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(grey).save(file, "PNG")
    scores = score_image(file.getvalue())
    assert scores["laplacian_variance"] == scores["laplacian_variance_fixed"] == 120**2
    assert scores["color_shift"] == 0


def test_a_bad_file_raises_its_named_error(shared_data: Path):
    with pytest.raises(ImageError) as caught:
        score_image((shared_data / "bad_inputs" / "truncated.jpg").read_bytes())
    assert caught.value.code == "truncated"


def test_the_policy_changes_with_everything_that_changes_a_score(shared_data: Path):
    picture = decode((shared_data / "bad_inputs" / "gif_named_jpg.jpg").read_bytes())
    policies = [
        score_policy(),
        score_policy(fixed_side_px=256),
        score_policy(reduced_side_px=64),
        score_policy(reference=reference_of([picture])),
    ]
    assert len({str(policy) for policy in policies}) == 4
    assert score_policy() == score_policy()
    assert "simplejpeg" in policies[0]["decoder"]
