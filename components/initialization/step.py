"""Make the untrained model that the first training stage starts from."""

from collections.abc import Mapping
from typing import Any

from components.data.artifacts import ModelManifest
from components.data.encoded import SAMPLES, TEXTS
from components.data.identity import code_version
from components.data.manifest import DatasetManifest
from components.data.options import identity_options
from components.data.task import Task, step_id, stored
from components.initialization.options import InitializationOptions
from components.model.policy import text_policy
from components.model.published import CLIP, UNET
from components.model.weights import resolve

INPUTS = ("dataset",)
RESULT_KIND = "Model"
IMAGE = "dogflow-train"


def run(task: Task, dataset: DatasetManifest, *, options: InitializationOptions) -> ModelManifest:
    """A network with fresh weights, or a published U-Net's, for the breeds and texts of an encoded dataset.

    A step of its own because every training stage then takes a model, and KFP has no optional artifacts.
    Raises ValueError when the preset or the text model does not fit the dataset, and WeightsError when the
    text model or the U-Net is not on this machine.
    """
    policy = text_policy(resolve(options.text_model, CLIP))
    unet = resolve(options.unet, UNET).identity if options.unet else None
    stored_states = dataset.groups[TEXTS].policy
    if policy != stored_states:
        raise ValueError(
            f"initialization.text_model={options.text_model} is {_said(policy)}, but the texts here were "
            f"encoded with {_said(stored_states)}; give the same model as encoding.text_model."
        )
    model_id = step_id("initialization", [dataset], options, {**policy, "unet": unet} if unet else policy)
    manifest = ModelManifest(
        name=dataset.name.removesuffix("-encoded"),
        id=model_id,
        step="initialization",
        parents=[dataset.id],
        code_version=code_version("initialization"),
        options=identity_options(options),
        history=[*dataset.history, dataset.record()],
    )
    done = stored(task, manifest)
    if done is not None:
        return done
    # Slow to import, which a stored result saves.
    from components.initialization.fresh import fresh_model
    from components.model.checkpoint import save_weights
    from components.model.ema import Ema

    model = fresh_model(dataset, options)
    files = save_weights(task.store, f"{manifest.name}/models/{model_id}", model, Ema(model, decay=0.0))
    counters = {"parameters": sum(parameter.numel() for parameter in model.parameters())}
    details = {
        "description": model.describe(),
        "breeds": dataset.groups[SAMPLES].policy["breeds"],
        "stage": -1,
    }
    return manifest.model_copy(update={"files": files, "counters": counters, "details": details}).save(
        task.store
    )


def _said(policy: Mapping[str, Any]) -> str:
    return f"{policy['model']} (weights {str(policy['weights_sha256'])[:12]}, {policy['library']})"
