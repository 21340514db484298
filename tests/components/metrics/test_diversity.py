import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from components.metrics.diversity import distances, intra_breed_diversity, memorisation, nearest


def test_distances_equal_scipy_even_far_from_the_origin():
    rng = np.random.default_rng(0)
    x, y = 1e4 + rng.standard_normal((30, 5)), 1e4 + rng.standard_normal((40, 5))
    assert np.allclose(distances(x, y), cdist(x, y), rtol=1e-7)


def test_diversity_is_the_mean_pairwise_distance_inside_each_breed():
    rng = np.random.default_rng(1)
    features, breeds = rng.standard_normal((21, 6)), np.array([0] * 10 + [2] * 10 + [3])
    found = intra_breed_diversity(features, breeds)
    assert sorted(found) == [0, 2]  # one image has no pair
    assert found[0] == pytest.approx(pdist(features[:10]).mean(), rel=1e-9)
    assert intra_breed_diversity(np.ones((4, 3)), np.zeros(4)) == {0: pytest.approx(0, abs=1e-6)}


def test_nearest_skips_the_row_itself_when_sets_are_the_same():
    points = np.array([[0.0], [1.0], [3.0], [3.5]])
    index, distance = nearest(points, points, same=True)
    assert index.tolist() == [1, 0, 3, 2] and np.allclose(distance, [1, 1, 0.5, 0.5])
    assert nearest(np.array([[2.9]]), points)[0].tolist() == [2]


def test_copies_of_training_images_are_flagged_and_fresh_samples_are_not():
    rng = np.random.default_rng(2)
    training, fresh = rng.standard_normal((600, 8)), rng.standard_normal((200, 8))
    honest = memorisation(fresh, training)
    assert not honest.flagged and honest.copies < 0.05
    assert np.median(honest.nearest_distance) == pytest.approx(honest.baseline, rel=0.1)
    copied = np.concatenate([fresh[:150], training[7:57] + 1e-3 * rng.standard_normal((50, 8))])
    caught = memorisation(copied, training)
    assert caught.flagged and caught.copies == pytest.approx(0.25, abs=0.05)
    assert caught.nearest_index[150:].tolist() == list(range(7, 57))


def test_duplicates_inside_the_training_set_do_not_hide_copying():
    rng = np.random.default_rng(3)
    training = rng.standard_normal((300, 8))
    training[100:200] = training[:100]
    assert memorisation(training[:50] + 1e-4, training).flagged


def test_empty_sets_are_refused():
    with pytest.raises(ValueError, match="at least 2 training images"):
        memorisation(np.ones((3, 2)), np.ones((1, 2)))
