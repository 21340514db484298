import cv2
import numpy as np
import pytest
import torch

from components.metrics.classifier import ClassifierOptions, breed_accuracy, train_classifier

QUICK = ClassifierOptions(size_px=16, width=8, epochs=4, min_steps=120, batch=32)


def stripes(rng, per_class):
    """Three classes told apart by the direction of stripes alone; colours and phase are random."""
    yy, xx = np.mgrid[:16, :16]
    waves = [xx, yy, xx + yy]
    images, labels = [], []
    for label, wave in enumerate(waves):
        for _ in range(per_class):
            stripe = np.sin(wave * 1.2 + rng.uniform(0, 6.28))[..., None] * rng.uniform(40, 90, 3)
            images.append(np.clip(stripe + rng.uniform(90, 160, 3), 0, 255).astype(np.uint8))
            labels.append(label)
    order = rng.permutation(len(labels))
    return np.stack(images)[order], np.array(labels)[order]


def test_it_learns_shapes_and_equal_seeds_give_equal_classifiers():
    images, labels = stripes(np.random.default_rng(0), 60)
    fresh, wanted = stripes(np.random.default_rng(1), 40)
    before = torch.random.get_rng_state()
    first = train_classifier(images, labels, 3, seed=5, options=QUICK)
    assert torch.equal(before, torch.random.get_rng_state())
    again = train_classifier(images, labels, 3, seed=5, options=QUICK)
    other = train_classifier(images, labels, 3, seed=6, options=QUICK)
    assert breed_accuracy(first.predict(fresh), wanted, 3).top1 > 0.95
    assert np.array_equal(first.probabilities(fresh), again.probabilities(fresh))
    assert not np.array_equal(first.probabilities(fresh), other.probabilities(fresh))


def test_soft_and_grainy_pictures_are_judged_like_sharp_ones():
    rng = np.random.default_rng(3)
    model = train_classifier(*stripes(rng, 60), 3, seed=0, options=QUICK)
    fresh, wanted = stripes(rng, 40)
    soft = np.stack([cv2.blur(image, (3, 3), borderType=cv2.BORDER_REPLICATE) for image in fresh])
    grainy = np.clip(fresh + rng.normal(0, 12, fresh.shape), 0, 255).astype(np.uint8)
    for pictures in (soft, grainy):
        assert breed_accuracy(model.predict(pictures), wanted, 3).top1 > 0.9


def test_images_of_another_size_are_resized():
    images, labels = stripes(np.random.default_rng(2), 8)
    model = train_classifier(
        images, labels, 3, seed=0, options=ClassifierOptions(size_px=16, width=8, min_steps=2)
    )
    large = images.repeat(2, 1).repeat(2, 2)
    assert model.probabilities(large).shape == (24, 3)
    assert np.allclose(model.probabilities(large).sum(1), 1, atol=1e-5)


def test_accuracy_and_confusion_match_hand_counts():
    found = breed_accuracy(np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 2, 0]), 4)
    assert found.top1 == pytest.approx(3 / 5)
    assert found.per_breed == {0: 0.5, 1: 0.5, 2: 1.0}
    assert found.confusion.tolist() == [[1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]


def test_labels_outside_the_breed_table_are_refused():
    images = np.zeros((2, 16, 16, 3), np.uint8)
    with pytest.raises(ValueError, match=r"0\.\.2"):
        train_classifier(images, np.array([0, 3]), 3, seed=0)
    with pytest.raises(ValueError, match="do not match"):
        breed_accuracy(np.array([0]), np.array([0, 1]), 3)
