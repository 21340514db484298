"""How the model was trained and how good it is, from the manifests of models and evaluations."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from components.data.artifacts import EvaluationManifest, ModelManifest, StoredFile
from components.data.manifest import Manifest, ManifestError, StepRecord, sha256_hex
from components.data.storage import NotFound, Store
from components.report.data import Evaluation, Metric, ReportError, TrainingStage
from components.report.wording import duration, number, percent

_STAGES = {0: "general", 1: "breed-aware", 2: "curriculum"}
# Counter of a training -> its name in the page.
_FACTS = {
    "rows": "rows",
    "steps": "steps",
    "epochs": "epochs",
    "loss": "last loss",
    "validation_loss": "held-out loss",
    "images_per_s": "images/s",
}
_SHARES = frozenset(
    {
        "breed_accuracy",
        "classifier_accuracy_real",
        "histogram_accuracy",
        "pairs_accuracy",
        "pairs_histogram_accuracy",
        "memorised_share",
    }
)


def read_stored(store: Store, file: StoredFile) -> bytes:
    """The bytes of an artifact's file. Raises ReportError when they are not those that were written."""
    data = store.read(file.path)
    if sha256_hex(data) != file.sha256:
        raise ReportError(f"{store.uri}/{file.path} is damaged; run the step that makes it again.")
    return data


def training_stages(store: Store, results: Manifest) -> list[TrainingStage]:
    """One stage for every training in the line of descent of `results`, in the order they were run."""
    records = [*results.history, results.record()]
    return [_stage(store, results.name, record) for record in records if record.step == "training"]


def _stage(store: Store, name: str, record: StepRecord) -> TrainingStage:
    number_ = int(record.options.get("stage", 0))
    counters = record.counters
    facts = {label: number(counters[key]) for key, label in _FACTS.items() if key in counters}
    if "seconds" in counters:
        facts["time"] = duration(float(counters["seconds"]))
    log = _log(store, name, record)
    curve = [line for line in log if line.get("loss") is not None]
    last: dict[str, Any] = next((line for line in reversed(log) if "loss_by_t" in line), {})
    return TrainingStage(
        f"Stage {number_}, {_STAGES.get(number_, 'custom')}",
        [float(line["step"]) for line in curve],
        [float(line["loss"]) for line in curve],
        facts,
        [(line["step"], line["validation_loss"]) for line in log if line.get("validation_loss") is not None],
        [math.nan if value is None else float(value) for value in last.get("loss_by_t", [])],
        [float(value) for value in last.get("gaussian_floor_by_t", [])],
    )


def _log(store: Store, name: str, record: StepRecord) -> list[dict[str, Any]]:
    """The records of a model's log; empty when the model was removed since."""
    path = f"{name}/manifests/{record.step}-{record.id}.json"
    try:
        log = read_stored(store, ModelManifest.load(store, path).files["log"])
    except (NotFound, ManifestError, KeyError):
        return []
    return [json.loads(line) for line in log.decode().splitlines()]


def evaluation_shown(store: Store, results: Manifest) -> Evaluation | None:
    """Metrics, pictures and the breed table of an evaluation; None for anything else."""
    if not isinstance(results, EvaluationManifest):
        return None
    details = results.details
    extractor = str(details.get("extractor", ""))
    pictures = {
        name: read_stored(store, results.files[name]) for name in ("grid", "nearest") if name in results.files
    }
    return Evaluation(
        metrics=metrics(results.counters, extractor, is_fid=bool(details.get("is_fid"))),
        breed_accuracy=[(breed, *counts) for breed, counts in details.get("per_breed", {}).items()],
        samples_png=pictures.get("grid", b""),
        samples_note="Drawn from the averaged weights; pictures of a breed stand together.",
        nearest_png=pictures.get("nearest", b""),
        nearest_note="The drawn pictures closest to a training photo, each left of that photo.",
        notes=[str(note) for note in details.get("notes", [])],
    )


def metrics(counters: Mapping[str, float], extractor: str, *, is_fid: bool) -> Sequence[Metric]:
    """The metrics that were measured, each with what it is to be held against."""

    def value(name: str) -> str:
        found = counters.get(name)
        if found is None:
            return "unknown"
        return percent(found) if name in _SHARES else number(found)

    notes = {
        "frechet_distance": f"{value('frechet_floor')} ± {value('frechet_floor_std')} between halves of the "
        f"{value('real_images')} real photos; {'FID, ' if is_fid else 'not FID: '}{extractor}",
        "kid": f"0 for pictures like the real ones; ± {value('kid_std')} over random subsets",
        "breed_accuracy": f"{value('classifier_accuracy_real')} on held-out real photos",
        "histogram_accuracy": "breeds guessed from colours alone: breed_accuracy should be well above",
        "pairs_accuracy": f"breeds easily confused; {value('pairs_histogram_accuracy')} from colours alone",
        "diversity": f"{value('diversity_real')} among real photos of a breed",
        "nearest_distance": f"{value('nearest_baseline')} from a training photo to the nearest other one",
        "memorised_share": "1.0% for pictures as varied as the photos; above 5.0% is copying",
        "samples": f"{value('real_images')} real photos",
    }
    return [
        Metric(name, counters[name], note, is_share=name in _SHARES)
        for name, note in notes.items()
        if name in counters
    ]
