"""Train one stage of the flow-matching model, from where the previous one ended."""

from components.data.artifacts import ModelManifest
from components.data.checkpoints import Checkpoints
from components.data.identity import code_version
from components.data.manifest import DatasetManifest, StepRecord
from components.data.options import identity_options
from components.data.task import Task, step_id, stored
from components.training.options import TrainingOptions

INPUTS = ("dataset", "model")
INPUT_KINDS = {"model": "Model"}
RESULT_KIND = "Model"
IMAGE = "dogflow-train"


def run(
    task: Task, dataset: DatasetManifest, model: ModelManifest, *, options: TrainingOptions
) -> ModelManifest:
    """Train `model` further on an encoded dataset; resumes from the newest good checkpoint of the same run.

    Raises EmptyTier when the stage needs reviewed or confident rows and there are none, NonFiniteError when
    losses stay non-finite.
    """
    manifest = ModelManifest(
        name=model.name,
        id=step_id("training", [dataset, model], options, {}),
        step="training",
        parents=[dataset.id, model.id],
        code_version=code_version("training"),
        options=identity_options(options),
        history=_history(dataset, model),
    )
    checkpoints = Checkpoints(task.store, f"{model.name}/checkpoints/{manifest.id}")
    done = stored(task, manifest)
    if done is not None:
        checkpoints.clear()  # a run that was killed right after its manifest left them
        return done
    # Slow to import, which a stored result saves.
    from components.training.fit import fit

    fitted = fit(task, dataset, model, options, manifest.id, checkpoints)
    manifest = manifest.model_copy(update=vars(fitted)).save(task.store)
    checkpoints.clear()
    return manifest


def _history(dataset: DatasetManifest, model: ModelManifest) -> list[StepRecord]:
    """Both lines of descent, the data's and the model's, each step once."""
    records = [*dataset.history, dataset.record(), *model.history, model.record()]
    return list({record.id: record for record in records}.values())
