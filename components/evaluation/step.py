"""Score drawn pictures against the held-out photos: distance, breed fidelity, variety, copying."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from components.data.artifacts import EvaluationManifest, SamplesManifest, fetch_file, store_file
from components.data.encoded import EncodedDataset, breed_positions
from components.data.identity import code_version
from components.data.manifest import DatasetManifest
from components.data.options import identity_options
from components.data.pictures import contact_sheet, lineage_of, pictures_from_parquet
from components.data.task import Task, step_id, stored
from components.evaluation.fidelity import Fidelity, Labelled, fidelity
from components.evaluation.options import EvaluationOptions
from components.metrics.diversity import Memorisation, intra_breed_diversity, memorisation
from components.metrics.extractors import Extractor, load_extractor
from components.metrics.floor import split_half_floor
from components.metrics.frechet import FeatureIdentity, FeatureStatistics, frechet_distance
from components.metrics.kid import kid
from components.model.published import CLIP
from components.model.weights import resolve

INPUTS = ("dataset", "samples")
INPUT_KINDS = {"samples": "Artifact"}
RESULT_KIND = "Artifact"
IMAGE = "dogflow-train"
NEAREST_SHOWN = 24


def run(
    task: Task, dataset: DatasetManifest, samples: SamplesManifest, *, options: EvaluationOptions
) -> EvaluationManifest:
    """Compare `samples` with the test split of the encoded dataset they were prompted from.

    Raises ExtractorError when the extractor's weights are not on this machine, and ValueError when the test
    split is too small to compare with.
    """
    extractor = load_extractor(options.extractor, _weights(options))
    identity = extractor.identity(data=dataset.id)
    policy = {"extractor": vars(identity)}
    manifest = EvaluationManifest(
        name=samples.name,
        id=step_id("evaluation", [dataset, samples], options, policy),
        step="evaluation",
        parents=[dataset.id, samples.id],
        code_version=code_version("evaluation"),
        options=identity_options(options),
        history=[*samples.history, samples.record()],
    )
    done = stored(task, manifest)
    if done is not None:
        return done
    encoded = EncodedDataset(task.store, dataset)
    train, real = _photos(encoded, "train"), _photos(encoded, "test")
    if len(real.images) < 4:
        raise ValueError(
            f"The test split has {len(real.images)} photos; evaluation needs at least 4. Give more photos, "
            "or raise duplicates.test_fraction."
        )
    drawn = _drawn(task, samples, encoded.breeds)
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
    folder = f"{samples.name}/evaluations/{manifest.id}"
    nearest = _nearest(drawn, train, copies, lineage_of(manifest))
    files = {
        "grid": samples.files["grid"],
        "nearest": store_file(task.store, folder, "nearest.png", nearest),
    }
    return manifest.model_copy(
        update={
            "files": files,
            "counters": {name: float(value) for name, value in counters.items() if np.isfinite(value)},
            "details": _details(extractor, encoded, fidelities, [str(item.message) for item in caught]),
        }
    ).save(task.store)


def _weights(options: EvaluationOptions) -> str:
    """A path; references such as `demo` name an open_clip folder."""
    if options.extractor in ("demo", "clip") and options.extractor_weights:
        return str(resolve(options.extractor_weights, CLIP).path.parent)
    return options.extractor_weights


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


def _nearest(drawn: Labelled, train: Labelled, copies: Memorisation, lineage: Mapping[str, str]) -> bytes:
    """PNG: the samples closest to a training photo, each left of that photo."""
    closest = np.argsort(copies.nearest_distance, kind="stable")[:NEAREST_SHOWN]
    pairs = [(drawn.images[i], train.images[copies.nearest_index[i]]) for i in closest]
    images = np.stack([image for pair in pairs for image in pair])
    return contact_sheet(images, columns=8, lineage=lineage)


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
