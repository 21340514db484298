"""Reference scores: drawn pictures with planted truth, run through the real code with stand-in models."""

import numpy as np
import pytest

from components.foreground import sam_segmenter
from components.foreground.prompts import BoxPrompt
from components.foreground.segmenter import Mask
from components.model import clip
from pipelines.weights import reference_scores as module
from pipelines.weights.reference_scores import EXPECTED, RADIUS_PX, SIDE_PX, pictures, reference_scores


class ColorClip:
    """Embeds a picture by its share of red and a text by whether it says so."""

    def embed_images(self, images):
        red = [float((image[..., 0] > image[..., 1]).mean() > 0.1) for image in images]
        return np.array([[share, 1 - share] for share in red], np.float32)

    def embed_texts(self, texts):
        return np.array([[1.0, 0.0] if "red" in text else [0.0, 1.0] for text in texts], np.float32)


class ColorSegmenter:
    def segment(self, images, prompts):
        red = images[0][..., 1] < 128
        return [[Mask(red, 0.9 if isinstance(prompt, BoxPrompt) else 0.8) for prompt in prompts[0]]]


def test_the_disc_has_the_area_of_a_circle_and_the_stripes_are_half_white():
    drawn = pictures()
    red = drawn["disc"][..., 1] < 128
    assert red.sum() == pytest.approx(np.pi * RADIUS_PX**2, rel=5e-3)
    assert (drawn["stripes"] == 255).mean() == 0.5
    assert {picture.shape for picture in drawn.values()} == {(SIDE_PX, SIDE_PX, 3)}


def test_a_clip_that_sees_is_sensible_and_one_that_is_upside_down_is_not(monkeypatch):
    monkeypatch.setattr(clip, "load_clip", lambda *args, **options: ColorClip())
    scores = reference_scores("any/tag", "clip")
    assert scores.values["cosine disc x disc"] == 1.0
    assert scores.values["cosine disc x stripes"] == 0.0
    assert scores.sensible
    assert scores.good
    monkeypatch.setattr(
        ColorClip, "embed_texts", lambda self, texts: np.array([[0.0, 1.0], [1.0, 0.0]], np.float32)
    )
    assert not reference_scores("any/tag", "clip").good


def test_a_segmenter_is_sensible_when_its_mask_is_the_disc(monkeypatch):
    monkeypatch.setattr(sam_segmenter, "load_segmenter", lambda *args, **options: ColorSegmenter())
    scores = reference_scores("vit_b", "sam")
    assert scores.values["ratio disc, box"] == pytest.approx(np.pi * RADIUS_PX**2 / SIDE_PX**2, rel=5e-3)
    assert scores.values["predicted IoU disc, centre point"] == 0.8
    assert scores.sensible


def test_recorded_values_are_compared_within_the_tolerance_and_none_are_recorded_yet(monkeypatch):
    assert EXPECTED == {}
    monkeypatch.setattr(clip, "load_clip", lambda *args, **options: ColorClip())
    monkeypatch.setattr(module, "EXPECTED", {"any/tag": {"cosine disc x disc": 0.999}})
    close = reference_scores("any/tag", "clip")
    assert close.recorded
    assert close.good
    monkeypatch.setattr(module, "EXPECTED", {"any/tag": {"cosine disc x disc": 0.9}})
    far = reference_scores("any/tag", "clip")
    assert far.differences["cosine disc x disc"] == pytest.approx(0.1)
    assert not far.good
