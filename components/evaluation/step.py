"""Score drawn pictures against the held-out photos: distance, breed fidelity, variety, copying."""

from components.data.artifacts import EvaluationManifest, SamplesManifest, store_file
from components.data.identity import code_version
from components.data.manifest import DatasetManifest
from components.data.options import identity_options
from components.data.pictures import contact_sheet, lineage_of
from components.data.task import Task, step_id, stored
from components.evaluation.options import EvaluationOptions
from components.metrics.extractors import load_extractor
from components.model.published import CLIP
from components.model.weights import resolve

INPUTS = ("dataset", "samples")
INPUT_KINDS = {"samples": "Artifact"}
RESULT_KIND = "Artifact"
IMAGE = "dogflow-train"


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
    # Slow to import, which a stored result saves.
    from components.evaluation.scoring import score

    scores = score(task, dataset, samples, extractor, options)
    folder = f"{samples.name}/evaluations/{manifest.id}"
    nearest = contact_sheet(scores.nearest, columns=8, lineage=lineage_of(manifest))
    files = {
        "grid": samples.files["grid"],
        "nearest": store_file(task.store, folder, "nearest.png", nearest),
    }
    return manifest.model_copy(
        update={"files": files, "counters": scores.counters, "details": scores.details}
    ).save(task.store)


def _weights(options: EvaluationOptions) -> str:
    """A path; references such as `demo` name an open_clip folder."""
    if options.extractor in ("demo", "clip") and options.extractor_weights:
        return str(resolve(options.extractor_weights, CLIP).path.parent)
    return options.extractor_weights
