"""The numbers and pictures of an evaluation."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from components.data.artifacts import SamplesManifest, fetch_file
from components.data.encoded import EncodedDataset, breed_positions
from components.data.manifest import DatasetManifest
from components.data.pictures import pictures_from_parquet
from components.data.task import Task
from components.evaluation.fidelity import Fidelity, Labelled, fidelity
from components.evaluation.options import EvaluationOptions
from components.metrics.diversity import Memorisation, intra_breed_diversity, memorisation
from components.metrics.extractors import Extractor
from components.metrics.floor import split_half_floor
from components.metrics.frechet import FeatureIdentity, FeatureStatistics, frechet_distance
from components.metrics.kid import kid

NEAREST_SHOWN = 24


@dataclass(frozen=True)
class Scores:
    """counters: finite numbers by name. details: what a report says beside them. nearest: the samples closest
    to a training photo, each before that photo, (2n, H, W, 3) uint8."""

    counters: dict[str, float]
    details: dict[str, Any]
    nearest: np.ndarray


def score(
    task: Task,
    dataset: DatasetManifest,
    samples: SamplesManifest,
    extractor: Extractor,
    options: EvaluationOptions,
) -> Scores:
    """Compare the drawn pictures with the test split, and look for copies of the training split.

    Raises ValueError when the test split is too small to compare with.
    """
    encoded = EncodedDataset(task.store, dataset)
    train, real = _photos(encoded, "train"), _photos(encoded, "test")
    if len(real.images) < 4:
        raise ValueError(
            f"The test split has {len(real.images)} photos; evaluation needs at least 4. Give more photos, "
            "or raise duplicates.test_fraction."
        )
    drawn = _drawn(task, samples, encoded.breeds)
    identity = extractor.identity(data=dataset.id)
    features = {name: extractor.features(part.images) for name, part in _parts(train, real, drawn)}
    rng = np.random.default_rng(options.seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        distances = _distances(features, identity, options, rng)
    fidelities = fidelity(
        _with_breed(train, encoded.breeds),
        _with_breed(real, encoded.breeds),
        drawn,
        encoded.breeds,
        options.confusable_pairs,
        epochs=options.classifier_epochs,
        seed=options.seed,
    )
    copies = memorisation(features["drawn"], features["train"])
    counters = {**distances, **_counters(fidelities, copies, features, real, drawn)}
    return Scores(
        {name: float(value) for name, value in counters.items() if np.isfinite(value)},
        _details(extractor, encoded, fidelities, [str(item.message) for item in caught]),
        _nearest(drawn, train, copies),
    )


def _photos(encoded: EncodedDataset, split: str) -> Labelled:
    rows = encoded.rows_of_split(split)
    return Labelled(encoded.samples(rows), encoded.breed_index()[rows])


def _with_breed(part: Labelled, breeds: list[str]) -> Labelled:
    known = part.breeds < len(breeds)
    return Labelled(part.images[known], part.breeds[known])


def _drawn(task: Task, samples: SamplesManifest, breeds: list[str]) -> Labelled:
    images, table = pictures_from_parquet(fetch_file(task.store, samples.files["samples"]))
    return Labelled(images, breed_positions(table.column("breed").to_pylist(), breeds))


def _parts(train: Labelled, real: Labelled, drawn: Labelled) -> list[tuple[str, Labelled]]:
    return [("train", train), ("real", real), ("drawn", drawn)]


def _distances(
    features: Mapping[str, np.ndarray],
    identity: FeatureIdentity,
    options: EvaluationOptions,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Frechet distance and KID to the real pictures, and what two halves of those are apart."""

    def distance(first: np.ndarray, second: np.ndarray) -> float:
        sides = [FeatureStatistics(identity, block.shape[1]).add(block) for block in (first, second)]
        return frechet_distance(*sides)

    floor = split_half_floor(features["real"], distance, rng, options.floor_splits)
    mean, std = kid(features["drawn"], features["real"], rng, subsets=options.kid_subsets)
    return {
        "frechet_distance": distance(features["drawn"], features["real"]),
        "frechet_floor": floor.mean,
        "frechet_floor_std": floor.std,
        "kid": mean,
        "kid_std": std,
    }


def _counters(
    found: Fidelity,
    copies: Memorisation,
    features: Mapping[str, np.ndarray],
    real: Labelled,
    drawn: Labelled,
) -> dict[str, float]:
    def variety(name: str, part: Labelled) -> float:
        values = list(intra_breed_diversity(features[name], part.breeds).values())
        return float(np.mean(values)) if values else float("nan")

    return {
        "breed_accuracy": found.drawn.top1,
        "classifier_accuracy_real": found.real,
        "histogram_accuracy": found.histogram,
        "pairs_accuracy": found.pairs,
        "pairs_histogram_accuracy": found.pairs_histogram,
        "diversity": variety("drawn", drawn),
        "diversity_real": variety("real", real),
        "nearest_distance": float(np.median(copies.nearest_distance)),
        "nearest_baseline": copies.baseline,
        "memorised_share": copies.copies,
        "samples": len(drawn.images),
        "real_images": len(real.images),
    }


def _nearest(drawn: Labelled, train: Labelled, copies: Memorisation) -> np.ndarray:
    """The samples closest to a training photo, each before that photo: (2n, H, W, 3) uint8."""
    closest = np.argsort(copies.nearest_distance, kind="stable")[:NEAREST_SHOWN]
    pairs = [(drawn.images[i], train.images[copies.nearest_index[i]]) for i in closest]
    return np.stack([image for pair in pairs for image in pair])


def _details(
    extractor: Extractor, encoded: EncodedDataset, found: Fidelity, notes: list[str]
) -> dict[str, Any]:
    drawn = found.drawn.confusion.sum(1)
    return {
        "extractor": extractor.label,
        "is_fid": extractor.is_fid,
        "breeds": encoded.breeds,
        "per_breed": {
            encoded.breeds[breed]: [int(found.drawn.confusion[breed, breed]), int(drawn[breed])]
            for breed in found.drawn.per_breed
        },
        "confusion": found.drawn.confusion.tolist(),
        "notes": list(dict.fromkeys(notes)),
    }
