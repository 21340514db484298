"""Train one stage of the flow-matching model, from where the previous one ended."""

import math
import os
import tempfile
from pathlib import Path
from typing import Any

from components.data.artifacts import ModelManifest
from components.data.encoded import EncodedDataset
from components.data.identity import code_version
from components.data.manifest import DatasetManifest, StepRecord
from components.data.options import identity_options
from components.data.progress import Progress
from components.data.task import Task, step_id, stored
from components.model.checkpoint import Checkpoints, load_model, save_weights, write_file
from components.model.device import pick_device
from components.model.timesteps import Density
from components.training.draws import Dropout
from components.training.logbook import Logbook
from components.training.loop import Trainer
from components.training.options import TrainingOptions
from components.training.rows import EncodedRows
from components.training.run_state import LoopOptions, StepReport, TrainingResult
from components.training.stages import Stage, stage

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
    chosen = stage(options.stage)
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
    breeds = list(model.details["breeds"])
    rows = EncodedRows(EncodedDataset(task.store, dataset), chosen.text, breeds)
    network = load_model(task.store, model).to(pick_device(options.device))
    trainer = Trainer(network, rows, chosen, _loop_options(options), checkpoints)
    logbook = Logbook(_log_folder(manifest.id), trainer.progress.step, trainer.log)
    try:
        result = trainer.run(logbook, _reporter(chosen, options, trainer.progress.step))
    finally:
        logbook.close()
    folder = f"{model.name}/models/{manifest.id}"
    network.to("cpu")
    files = save_weights(task.store, folder, network, trainer.ema)
    files["log"] = write_file(task.store, folder, "training.jsonl", logbook.path.read_bytes())
    details = {**model.details, "description": network.describe(), "breeds": breeds, "stage": options.stage}
    manifest = manifest.model_copy(
        update={"files": files, "counters": _counters(result, rows), "details": details}
    ).save(task.store)
    checkpoints.clear()
    return manifest


def _history(dataset: DatasetManifest, model: ModelManifest) -> list[StepRecord]:
    """Both lines of descent, the data's and the model's, each step once."""
    records = [*dataset.history, dataset.record(), *model.history, model.record()]
    return list({record.id: record for record in records}.values())


def _loop_options(options: TrainingOptions) -> LoopOptions:
    return LoopOptions(
        steps=options.steps,
        batch=options.batch,
        micro_batch=options.micro_batch,
        learning_rate=options.learning_rate,
        final_lr_share=options.final_lr_share,
        warmup=options.warmup,
        weight_decay=options.weight_decay,
        clip=options.clip,
        ema_decay=options.ema_decay,
        flips=options.flips,
        density=Density(options.density, options.density_mean, options.density_std, options.shift),
        dropout=Dropout(options.drop_both, options.drop_caption, options.drop_breed),
        precision=options.precision,
        seed=options.seed,
        max_bad_steps=options.max_bad_steps,
        log_every=options.log_every,
        checkpoint_every=options.checkpoint_every,
    )


def _log_folder(model_id: str) -> Path:
    """Where TensorBoard can watch: under the project's home if there is one."""
    home = os.environ.get("DOGFLOW_HOME")
    return Path(home or tempfile.mkdtemp(prefix="dogflow-")) / "logs" / model_id


def _reporter(chosen: Stage, options: TrainingOptions, done: int) -> Any:
    progress = Progress(f"training stage {chosen.number} ({chosen.name})", options.steps, "steps")
    progress.skip(done)

    def report(step: StepReport) -> None:
        progress.add(1, f"loss {step.loss:.4f}, {step.images_per_s:.0f} images/s")

    return report


def _counters(result: TrainingResult, rows: EncodedRows) -> dict[str, int | float]:
    counters: dict[str, int | float] = {
        "rows": len(rows),
        "steps": result.steps,
        "epochs": result.epochs,
        "loss": result.loss,
        "skipped_steps": result.skipped_steps,
        "images_per_s": result.images_per_s,
        "seconds": result.seconds,
    }
    # JSON has no NaN, which the loss is when every step of the last log window was skipped.
    return {name: value for name, value in counters.items() if math.isfinite(value)}
