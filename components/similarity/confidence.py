"""Zero-shot probability of the labelled breed, from the picture alone."""

from collections.abc import Mapping, Sequence

import numpy as np

from components.similarity.embeddings import Embedder

# {article} follows the breed's first letter, for "a akita" is a rarer text than "an akita".
TEMPLATES = (
    "a photo of {article} {breed}, a type of dog.",
    "a photo of {article} {breed}.",
    "a close-up photo of {article} {breed} dog.",
)


def breed_prompts(label: str, templates: Sequence[str] = TEMPLATES) -> list[str]:
    """The prompts of one breed. Raises ValueError for a template without {breed}."""
    bad = [template for template in templates if "{breed}" not in template]
    if bad or not templates:
        raise ValueError(f"A breed template needs {{breed}} in it; got {bad or 'no templates'}.")
    article = "an" if label[:1].lower() in set("aeiou") else "a"
    return [template.format(breed=label, article=article) for template in templates]


class BreedConfidence:
    """Softmax over breeds of logit_scale x cosine, each breed being the mean of its prompts' embeddings.

    `labels`: breed key -> English name. The probability is relative to these breeds: a photo without a dog
    still sums to one over them.
    """

    def __init__(self, embedder: Embedder, labels: Mapping[str, str], templates: Sequence[str] = TEMPLATES):
        if len(labels) < 2:
            raise ValueError("Breed confidence compares breeds; it needs at least two of them.")
        prompts = [prompt for label in labels.values() for prompt in breed_prompts(label, templates)]
        vectors = embedder.embed_texts(prompts).astype(np.float64).reshape(len(labels), len(templates), -1)
        means = vectors.mean(axis=1)
        self.breeds = list(labels)
        self._index = {key: index for index, key in enumerate(labels)}
        self._anchors = means / np.linalg.norm(means, axis=1, keepdims=True)
        self._scale = embedder.logit_scale

    def probabilities(self, images: np.ndarray) -> np.ndarray:
        """(N, D) unit embeddings of pictures -> (N, breeds) float64; rows sum to one, NaN stays NaN."""
        logits = self._scale * images.astype(np.float64) @ self._anchors.T
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def __call__(self, images: np.ndarray, breeds: Sequence[str | None]) -> np.ndarray:
        """Probability of each picture's own breed: (N,) float32; NaN for no breed or one not compared."""
        indexes = np.array([self._index.get(breed or "", -1) for breed in breeds], dtype=np.int64)
        if len(indexes) != len(images):
            raise ValueError(f"{len(images)} pictures and {len(indexes)} breeds do not pair up.")
        chosen = np.take_along_axis(self.probabilities(images), np.maximum(indexes, 0)[:, None], axis=1)[:, 0]
        return np.where(indexes >= 0, chosen, np.nan).astype(np.float32)
