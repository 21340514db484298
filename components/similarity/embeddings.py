"""Embeddings of many rows: each distinct text is embedded once."""

import hashlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np


class Embedder(Protocol):
    """What similarity needs of a model; components.model.clip.ClipModel is one."""

    @property
    def logit_scale(self) -> float:
        """Factor of cosines before a softmax."""

    def embed_images(self, images: Sequence[np.ndarray]) -> np.ndarray:
        """(H,W,3) uint8 pictures -> (N, D) float32 unit vectors."""

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Texts -> (N, D) float32 unit vectors."""


def text_key(text: str) -> str:
    """The cache key of a text: 32 hex digits of its sha256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class TextEmbeddings:
    """Embeddings by text, each computed once while this object lives.

    1,000,000 distinct captions at 768 numbers are 3 GB, so `capacity` bounds what is kept; what was used
    least recently goes first. A capacity below the number of distinct texts of one call does no harm.
    """

    def __init__(self, embedder: Embedder, capacity: int = 100_000):
        self._embedder = embedder
        self._capacity = capacity
        self._known: dict[str, np.ndarray] = {}
        self.computed = 0

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """(N, D) float32 embeddings in the order of `texts`, which may repeat. Empty input gives (0, 0)."""
        distinct = list(dict.fromkeys(texts))
        missing = [text for text in distinct if text not in self._known]
        found = {text: self._known.pop(text) for text in distinct if text in self._known}
        if missing:
            found.update(zip(missing, self._embedder.embed_texts(missing), strict=True))
            self.computed += len(missing)
        self._known.update(found)
        while len(self._known) > self._capacity:
            del self._known[next(iter(self._known))]
        return np.stack([found[text] for text in texts]) if len(texts) else np.zeros((0, 0), np.float32)
