"""Prompts and targets for SAM, and the batched decoder against segment_anything's own."""

import numpy as np
import pytest
import torch

from components.model.sam import build_sam
from pipelines.demo.sam_batches import Pool, pictures, prompts, render_pool
from pipelines.demo.sam_check import iou
from pipelines.demo.train_sam import CONFIG, Training, decode, mask_loss


@pytest.fixture(scope="module")
def pool() -> Pool:
    return render_pool(6, CONFIG["image_size"], 0)


def test_recomposed_pictures_are_dogs_before_other_places(pool: Pool) -> None:
    rows = np.arange(6)
    images, alpha = pictures(pool, rows, np.random.default_rng(0))
    again, _ = pictures(pool, rows, np.random.default_rng(0))
    assert torch.equal(images, again)
    assert images.shape == (6, 3, 128, 128) and alpha.shape == (6, 1, 128, 128)
    assert float(images.min()) >= 0 and float(images.max()) <= 255
    areas = pool.alpha.float().mean((1, 2, 3)) / 255
    assert torch.allclose(alpha.mean((1, 2, 3)), areas, atol=1e-6)


def test_points_lie_on_what_they_ask_for_and_boxes_hold_the_dog(pool: Pool) -> None:
    alpha = pool.alpha.float() / 255
    for seed in range(5):
        asked = prompts(alpha, np.random.default_rng(seed))
        for i in range(len(alpha)):
            (on_x, on_y), (off_x, off_y) = asked.points[i].long().tolist()
            assert alpha[i, 0, on_y, on_x] >= 0.5
            assert alpha[i, 0, off_y, off_x] < 0.5
            x0, y0, x1, y1 = asked.boxes[i, 1].round().long().tolist()
            assert alpha[i, 0, y0:y1, x0:x1].sum() > 0.8 * alpha[i].sum()
        assert torch.equal(asked.targets[:, 0], alpha[:, 0])
        assert torch.allclose(asked.targets[:, 3], 1 - alpha[:, 0])


def test_the_batched_decoder_equals_segment_anythings_own(pool: Pool) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        sam = build_sam(CONFIG)
    images, alpha = pictures(pool, np.arange(3), np.random.default_rng(1))
    asked = prompts(alpha, np.random.default_rng(2))
    encoder = sam.prompt_encoder
    with torch.no_grad():
        embeddings = sam.image_encoder((images - sam.pixel_mean) / sam.pixel_std)
        logits, ious = decode(sam, embeddings, asked)
        for i in range(3):
            labels = torch.ones(2, 1, dtype=torch.int)
            for start, (sparse, dense) in (
                (0, encoder(points=None, boxes=asked.boxes[i], masks=None)),
                (2, encoder(points=(asked.points[i][:, None], labels), boxes=None, masks=None)),
            ):
                own_logits, own_ious = sam.mask_decoder.predict_masks(
                    embeddings[i : i + 1], encoder.get_dense_pe(), sparse, dense
                )
                assert torch.allclose(logits[i, start : start + 2], own_logits, atol=1e-5)
                assert torch.allclose(ious[i, start : start + 2], own_ious, atol=1e-5)


def test_the_loss_vanishes_at_the_right_masks_with_the_right_guess() -> None:
    coverage = torch.zeros(1, 4, 8, 8)
    coverage[..., 2:6, 2:6] = 1
    logits = ((coverage - 0.5) * 80)[:, :, None].expand(-1, -1, 4, -1, -1)
    loss, reached = mask_loss(logits, torch.ones(1, 4, 4), coverage)
    assert float(loss) == pytest.approx(0, abs=1e-4) and float(reached) == 1
    wrong, missed = mask_loss(-logits, torch.ones(1, 4, 4), coverage)
    assert float(wrong) > 30 and float(missed) == 0


def test_iou_of_shifted_squares_has_its_closed_form() -> None:
    a, b = np.zeros((10, 10), bool), np.zeros((10, 10), bool)
    a[:4, :4], b[2:6, :4] = True, True
    assert iou(a, b) == pytest.approx(8 / 24)
    assert iou(~(a | ~a), ~(a | ~a)) == 1


def test_a_batch_over_two_cores_takes_the_step_it_takes_on_one(pool: Pool) -> None:
    before, weights, losses = torch.get_num_threads(), [], []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            training = Training(seed=0, steps=10, batch=4)
            losses.append([training.step(index, pool) for index in range(2)])
            weights.append(torch.nn.utils.parameters_to_vector(training.average.parameters()))
    finally:
        torch.set_num_threads(before)
    assert np.allclose(losses[0], losses[1], rtol=1e-4)
    assert torch.allclose(weights[0], weights[1], atol=2e-4)
