"""Breed fidelity: does a classifier that never saw the drawn pictures take them for their breed?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from components.metrics.classifier import BreedAccuracy, ClassifierOptions, breed_accuracy, train_classifier
from components.metrics.histogram import HistogramGuesser


@dataclass(frozen=True)
class Labelled:
    """images: (N,H,W,3) uint8; breeds: (N,) int64 positions in the breed list."""

    images: np.ndarray
    breeds: np.ndarray


@dataclass(frozen=True)
class Fidelity:
    """drawn and real: accuracy of the classifier on drawn and on held-out real pictures.

    `histogram` is the accuracy on drawn pictures of a guesser that sees colours only. `pairs` and
    `pairs_histogram` are the same two on the pictures of confusable breeds; NaN without any.
    """

    drawn: BreedAccuracy
    real: float
    histogram: float
    pairs: float
    pairs_histogram: float


def fidelity(
    train: Labelled,
    held_out: Labelled,
    drawn: Labelled,
    breeds: Sequence[str],
    confusable_pairs: Sequence[str],
    *,
    epochs: int,
    seed: int,
) -> Fidelity:
    """Train on the training split only, then judge held-out real pictures and drawn ones.

    Raises ValueError for a pair that names an unknown breed.
    """
    count = len(breeds)
    classifier = train_classifier(train.images, train.breeds, count, seed, ClassifierOptions(epochs=epochs))
    guesser = HistogramGuesser(train.images, train.breeds, count)
    predicted, guessed = classifier.predict(drawn.images), guesser.predict(drawn.images)
    real = np.nan
    if len(held_out.images):
        real = float((classifier.predict(held_out.images) == held_out.breeds).mean())
    paired = np.isin(drawn.breeds, pair_members(confusable_pairs, breeds))

    def share(right: np.ndarray) -> float:
        return float(right.mean()) if len(right) else float("nan")

    return Fidelity(
        drawn=breed_accuracy(predicted, drawn.breeds, count),
        real=real,
        histogram=share(guessed == drawn.breeds),
        pairs=share((predicted == drawn.breeds)[paired]),
        pairs_histogram=share((guessed == drawn.breeds)[paired]),
    )


def pair_members(confusable_pairs: Sequence[str], breeds: Sequence[str]) -> list[int]:
    """Positions of the breeds named in `a|b` pairs. Raises ValueError naming a pair that does not fit."""
    members: set[int] = set()
    for pair in confusable_pairs:
        names = pair.split("|")
        unknown = [name for name in names if name not in breeds]
        if len(names) != 2 or unknown:
            raise ValueError(
                f"evaluation.confusable_pairs has {pair!r}; write two breeds of the model as a|b "
                f"({', '.join(breeds)})."
            )
        members.update(list(breeds).index(name) for name in names)
    return sorted(members)
