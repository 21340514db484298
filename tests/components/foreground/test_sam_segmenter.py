"""SamSegmenter against segment_anything's own predictor, batched against one by one, and the grid's union."""

import numpy as np
import pytest
import torch
from segment_anything import SamPredictor

from components.foreground import sam_segmenter as module
from components.foreground.grid import union_of_subjects
from components.foreground.prompts import BoxPrompt, GridPrompt, PointPrompt, centred_box
from components.foreground.sam_segmenter import SamSegmenter, bf16_drift, load_segmenter, without_specks
from components.model.sam import build_sam, save_sam

CONFIG = {
    "image_size": 64,
    "patch_size": 8,
    "encoder_embed_dim": 32,
    "encoder_depth": 2,
    "encoder_num_heads": 2,
    "encoder_global_attn_indexes": [1],
    "window_size": 4,
    "prompt_embed_dim": 32,
    "decoder_depth": 2,
    "decoder_num_heads": 2,
    "decoder_mlp_dim": 64,
    "iou_head_depth": 2,
    "iou_head_hidden_dim": 32,
    "mask_in_chans": 4,
    "pixel_mean": [123.675, 116.28, 103.53],
    "pixel_std": [58.395, 57.12, 57.375],
}


@pytest.fixture(scope="module")
def network():
    with torch.random.fork_rng():
        torch.manual_seed(21)
        sam = build_sam(CONFIG)
        with torch.no_grad():
            sam.image_encoder.pos_embed.normal_()
    return sam.requires_grad_(False)


def pictures() -> list[np.ndarray]:
    """Wide, tall, larger and smaller than the model's 64 px, and one of an odd shape."""
    rng = np.random.default_rng(12)
    sizes = [(50, 100), (120, 70), (40, 40), (64, 64), (37, 91)]
    return [rng.integers(0, 256, (height, width, 3), dtype=np.uint8) for height, width in sizes]


def prompts(image: np.ndarray) -> list:
    height, width = image.shape[:2]
    return [
        centred_box(width, height, 0.1),
        PointPrompt(((width * 0.4, height * 0.6),)),
        PointPrompt(((width * 0.4, height * 0.6), (width * 0.7, height * 0.2))),
    ]


def test_masks_equal_the_upstream_predictors_best_ones(network, monkeypatch):
    monkeypatch.setattr(module, "without_specks", lambda mask: mask)
    segmenter = SamSegmenter(network, device="cpu", dtype="fp32")
    images = pictures()
    answers = segmenter.segment(images, [prompts(image) for image in images])
    predictor = SamPredictor(network)
    for image, masks in zip(images, answers, strict=True):
        predictor.set_image(image)
        for prompt, mask in zip(prompts(image), masks, strict=True):
            if isinstance(prompt, BoxPrompt):
                candidates, ious, _ = predictor.predict(box=np.array(prompt.box), multimask_output=True)
            else:
                points = np.array(prompt.points)
                labels = np.ones(len(points), int)
                candidates, ious, _ = predictor.predict(points, labels, multimask_output=True)
            order = [index for index in np.argsort(-ious) if candidates[index].any()]
            assert mask.pixels.shape == image.shape[:2]
            assert mask.predicted_iou == pytest.approx(float(ious[order[0]]), abs=1e-5)
            assert (mask.pixels != candidates[order[0]]).mean() < 1e-3


def test_batched_encoding_equals_one_by_one(network):
    images = pictures()
    lists = [prompts(image) for image in images]
    together = SamSegmenter(network, device="cpu", encoder_batch=5).segment(images, lists)
    alone = SamSegmenter(network, device="cpu", encoder_batch=1).segment(images, lists)
    for batched, single in zip(together, alone, strict=True):
        for a, b in zip(batched, single, strict=True):
            assert (a.pixels != b.pixels).mean() < 2e-3
            assert a.predicted_iou == pytest.approx(b.predicted_iou, abs=1e-5)


def test_an_empty_best_mask_gives_way_to_the_next_and_three_empty_ones_to_nothing(network):
    segmenter = SamSegmenter(network, device="cpu")
    frame = module._Frame((64, 64), (64, 64))
    logits = torch.full((3, 32, 32), -5.0)
    ious = torch.tensor([0.9, 0.7, 0.8])
    nothing = segmenter._best(logits, ious, frame)
    assert not nothing.pixels.any()
    logits[1, 8:24, 8:24] = 5.0
    found = segmenter._best(logits, ious, frame)
    assert found.predicted_iou == pytest.approx(0.7)
    assert found.pixels.mean() == pytest.approx(0.25, abs=0.03)


def test_the_grid_prompt_gives_a_mask_of_the_pictures_size(network):
    segmenter = SamSegmenter(network, device="cpu")
    image = pictures()[1]
    (mask,) = segmenter.segment([image], [[GridPrompt(3)]])[0]
    assert mask.pixels.shape == image.shape[:2]
    # Random weights guess IoUs near 0, below the mask generator's bar: nothing may be made up.
    assert not mask.pixels.any()
    assert mask.predicted_iou == 0.0


def planted(masks: list[np.ndarray], ious: list[float]):
    """A decoder that answers every point with the same masks, whatever the point."""
    logits = torch.stack([torch.from_numpy(np.where(mask, 8.0, -8.0)).float() for mask in masks])

    def decode(points):
        return logits.expand(len(points), *logits.shape), torch.tensor(ious).expand(len(points), len(ious))

    return decode


def test_the_union_holds_good_inner_masks_and_leaves_out_background_and_bad_guesses():
    dog, cat, bad, wall, legs = (np.zeros((60, 80), bool) for _ in range(5))
    dog[20:50, 10:40] = True
    cat[10:30, 60:75] = True
    bad[2:8, 2:8] = True
    wall[:, :] = True
    wall[20:55, 5:78] = False
    legs[40:60, 45:55] = True  # cut off by the lower edge: 10 of 276 border pixels
    logits, iou = union_of_subjects(planted([dog, cat, bad, wall, legs], [0.95, 0.9, 0.5, 0.99, 0.92]), 2)
    np.testing.assert_array_equal((logits > 0).numpy(), dog | cat | legs)
    assert iou == pytest.approx(0.95)


def test_unstable_masks_do_not_count():
    soft = torch.linspace(-3, 3, 60 * 80).reshape(60, 80)  # a threshold one logit off halves this mask

    def decode(points):
        return soft.expand(len(points), 1, 60, 80), torch.full((len(points), 1), 0.95)

    logits, iou = union_of_subjects(decode, 2)
    assert not (logits > 0).any()
    assert iou == 0.0


def test_bf16_changes_few_pixels_and_the_drift_says_how_many(network):
    images = pictures()
    first = [prompts(image)[0] for image in images]
    rounded = SamSegmenter(network, device="cpu", dtype="bf16")
    exact = SamSegmenter(network, device="cpu", dtype="fp32")
    assert bf16_drift(exact, images, first) == 0.0
    lists = [[prompt] for prompt in first]
    ratios = [
        np.array([masks[0].pixels.mean() for masks in segmenter.segment(images, lists)])
        for segmenter in (rounded, exact)
    ]
    drift = bf16_drift(rounded, images, first)
    assert drift == pytest.approx(np.abs(ratios[0] - ratios[1]).max())
    assert 0 < drift < 0.2


def test_a_saved_model_is_loaded_by_reference(network, tmp_path):
    save_sam(network, CONFIG, tmp_path)
    loaded = load_segmenter(str(tmp_path), device="cpu", dtype="fp32")
    image = pictures()[0]
    expected = SamSegmenter(network, device="cpu", dtype="fp32").segment([image], [prompts(image)])[0]
    for a, b in zip(loaded.segment([image], [prompts(image)])[0], expected, strict=True):
        np.testing.assert_array_equal(a.pixels, b.pixels)


def test_specks_and_pinholes_go_and_the_rest_stays():
    mask = np.zeros((100, 100), bool)
    mask[20:80, 20:80] = True
    clean = mask.copy()
    mask[5:8, 90:93] = True
    mask[50:53, 50:53] = False
    np.testing.assert_array_equal(without_specks(mask), clean)
    large_hole = clean.copy()
    large_hole[40:60, 40:60] = False
    np.testing.assert_array_equal(without_specks(large_hole), large_hole)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros((10, 10), np.uint8), "needs uint8"),
        (np.zeros((10, 10, 3), np.float32), "needs uint8"),
        (np.zeros((1, 500, 3), np.uint8), "500 x 1 px, too thin"),
    ],
)
def test_pictures_that_cannot_be_segmented_are_named(network, image, message):
    with pytest.raises(ValueError, match=f"Picture 0 .*{message}"):
        SamSegmenter(network, device="cpu").segment([image], [[]])
