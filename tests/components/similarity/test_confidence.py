"""Breed confidence against a hand-made softmax and planted geometry."""

import numpy as np
import pytest

from components.similarity.confidence import BreedConfidence, breed_prompts

LABELS = {"beagle": "beagle", "akita": "Akita", "pug": "pug"}


class PlantedEmbedder:
    """Three breeds on three axes; each template tilts a prompt off its axis by its own amount."""

    logit_scale = 10.0

    def embed_images(self, images):
        raise AssertionError("no pictures here")

    def embed_texts(self, texts):
        vectors = []
        for text in texts:
            vector = np.zeros(4, np.float32)
            vector[next(i for i, label in enumerate(LABELS.values()) if label in text)] = 1.0
            vector[3] = 0.3 if "close-up" in text else -0.3 if "type of" in text else 0.0
            vectors.append(vector / np.linalg.norm(vector))
        return np.stack(vectors)


def test_probability_equals_the_softmax_of_scaled_cosines():
    # The tilts of the three templates cancel, so each breed's mean lies on its axis.
    image = np.array([[0.8, 0.6, 0.0, 0.0]], np.float32)
    confidence = BreedConfidence(PlantedEmbedder(), LABELS)
    weights = np.exp(10.0 * np.array([0.8, 0.6, 0.0]))
    np.testing.assert_allclose(confidence.probabilities(image)[0], weights / weights.sum(), rtol=1e-6)
    np.testing.assert_allclose(confidence(image, ["akita"]), [weights[1] / weights.sum()], rtol=1e-6)


def test_rows_without_a_known_breed_or_with_a_broken_embedding_are_nan():
    images = np.array([[1, 0, 0, 0], [1, 0, 0, 0], [np.nan, 0, 0, 0], [0, 0, 1, 0]], np.float32)
    values = BreedConfidence(PlantedEmbedder(), LABELS)(images, [None, "poodle", "beagle", "pug"])
    assert np.isnan(values[:3]).all()
    assert values[3] > 0.99


def test_a_huge_scale_does_not_overflow():
    embedder = PlantedEmbedder()
    embedder.logit_scale = 1e6
    values = BreedConfidence(embedder, LABELS)(np.eye(4, dtype=np.float32)[:2], ["beagle", "beagle"])
    np.testing.assert_array_equal(values, [1.0, 0.0])


def test_prompts_take_the_article_that_fits():
    assert breed_prompts("Akita", ["{article} {breed}"]) == ["an Akita"]
    assert breed_prompts("pug", ["{article} {breed}"]) == ["a pug"]
    with pytest.raises(ValueError, match=r"needs \{breed\}"):
        breed_prompts("pug", ["a dog"])


def test_one_breed_alone_is_refused():
    with pytest.raises(ValueError, match="at least two"):
        BreedConfidence(PlantedEmbedder(), {"pug": "pug"})
