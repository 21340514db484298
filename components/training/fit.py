"""From a model and an encoded dataset to the files of the trained model."""

import math
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from components.data.artifacts import ModelManifest, StoredFile, store_file
from components.data.checkpoints import Checkpoints
from components.data.encoded import SAMPLES, EncodedDataset
from components.data.manifest import DatasetManifest
from components.data.progress import Progress
from components.data.task import Task
from components.model.checkpoint import load_model, save_weights
from components.model.device import pick_device
from components.model.flow_model import FlowModel
from components.model.timesteps import Density, shift_for
from components.training.draws import Dropout
from components.training.logbook import Logbook
from components.training.loop import Trainer
from components.training.options import TrainingOptions
from components.training.pairs import PairsPlan
from components.training.rows import EncodedRows
from components.training.run_state import LoopOptions, StepReport, TrainingResult
from components.training.stages import Stage, stage
from components.training.termination import Termination
from components.training.throughput import Usage
from components.training.validation import Validation


@dataclass(frozen=True)
class Fitted:
    """What training adds to a model's manifest."""

    files: dict[str, StoredFile]
    counters: dict[str, int | float]
    details: dict[str, Any]


def fit(
    task: Task,
    dataset: DatasetManifest,
    model: ModelManifest,
    options: TrainingOptions,
    model_id: str,
    checkpoints: Checkpoints,
) -> Fitted:
    """Train to the last step and store weights and log; `model_id` names the result's folder.

    Raises SystemExit (143) after a SIGTERM, with a checkpoint stored.
    """
    chosen = stage(options.stage, options.curriculum)
    breeds = list(model.details["breeds"])
    new_breeds = [breed for breed in dataset.groups[SAMPLES].policy["breeds"] if breed not in breeds]
    breeds += new_breeds
    encoded = EncodedDataset(task.store, dataset)
    rows = EncodedRows(encoded, chosen.text, breeds)
    held_out = EncodedRows(encoded, chosen.text, breeds, split="val")
    network = load_model(task.store, model)
    if new_breeds:
        print(f"new to this model: {', '.join(new_breeds)}", flush=True)
        network.network.add_breeds(len(new_breeds))
    network.to(pick_device(options.device))
    validation = Validation(held_out, options.seed) if len(held_out) else None
    trainer = Trainer(
        network, rows, chosen, _loop_options(options, network.sample_shape), checkpoints, validation
    )
    logbook = Logbook(_log_folder(model_id), trainer.progress.step, trainer.log)
    report, usage = _reporter(chosen, options, trainer.progress.step), _usage(network, rows, options)
    try:
        with Termination() as termination:
            result = trainer.run(logbook, report, termination.asked, usage)
    finally:
        logbook.close()
    if not result.complete:
        print(
            f"training was told to end (SIGTERM) and stopped after step {result.steps} of {options.steps}; "
            "a checkpoint of it is stored, and the same command goes on from there",
            flush=True,
        )
        raise SystemExit(Termination.EXIT_CODE)
    folder = f"{model.name}/models/{model_id}"
    network.to("cpu")
    files = save_weights(task.store, folder, network, trainer.ema)
    files["log"] = store_file(task.store, folder, "training.jsonl", logbook.path.read_bytes())
    details = {**model.details, "description": network.describe(), "breeds": breeds, "stage": options.stage}
    return Fitted(files, _counters(result, rows), details)


def _density(options: TrainingOptions, sample_shape: tuple[int, int, int]) -> Density:
    shift, _ = shift_for(options.shift_rule, options.shift, *sample_shape[1:])
    return Density(options.density, options.density_mean, options.density_std, shift)


def _loop_options(options: TrainingOptions, sample_shape: tuple[int, int, int]) -> LoopOptions:
    return LoopOptions(
        steps=options.steps,
        batch=options.batch,
        micro_batch=options.micro_batch,
        learning_rate=options.learning_rate,
        final_lr_share=options.final_lr_share,
        warmup=options.warmup,
        weight_decay=options.weight_decay,
        beta2=options.beta2,
        clip=options.clip,
        ema_decay=options.ema_decay,
        flips=options.flips,
        path=options.path,
        huber_delta=options.huber_delta,
        contrastive=options.contrastive,
        temperature=options.contrastive_temperature,
        pairs=PairsPlan(options.contrastive_breeds, options.contrastive_rows),
        density=_density(options, sample_shape),
        dropout=Dropout(options.drop_both, options.drop_caption, options.drop_breed),
        precision=options.precision,
        seed=options.seed,
        max_bad_steps=options.max_bad_steps,
        log_every=options.log_every,
        validate_every=options.validate_every,
        checkpoint_every=options.checkpoint_every,
    )


def _usage(network: FlowModel, rows: EncodedRows, options: TrainingOptions) -> Usage:
    """Counted for texts as long as those of a first batch."""
    text_tokens = rows.load(np.arange(min(options.batch, len(rows)))).hidden.shape[1]
    return Usage(network, torch.bfloat16 if options.precision == "bf16" else torch.float32, text_tokens)


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
        "validation_loss": result.validation_loss,
        "skipped_steps": result.skipped_steps,
        "images_per_s": result.images_per_s,
        "seconds": result.seconds,
    }
    # JSON has no NaN, which a loss is without held-out rows, or after a window of skipped steps.
    return {name: value for name, value in counters.items() if math.isfinite(value)}
