"""Make the untrained model that the first training stage starts from."""

import torch

from components.data.artifacts import ModelManifest
from components.data.encoded import SAMPLES, TEXTS
from components.data.identity import code_version
from components.data.manifest import DatasetManifest
from components.data.options import identity_options
from components.data.task import Task, step_id, stored
from components.initialization.options import InitializationOptions
from components.model.checkpoint import save_weights
from components.model.ema import Ema
from components.model.flow_model import FlowModel
from components.model.text import load_text_tower
from components.model.unet import FlowUNet, preset

INPUTS = ("dataset",)
RESULT_KIND = "Model"
IMAGE = "dogflow-train"


def run(task: Task, dataset: DatasetManifest, *, options: InitializationOptions) -> ModelManifest:
    """A network with fresh weights, sized for the breeds and texts of an encoded dataset.

    A step of its own because every training stage then takes a model, and KFP has no optional artifacts.
    Raises ValueError when the preset does not fit the dataset.
    """
    samples, texts = dataset.groups[SAMPLES].policy, dataset.groups[TEXTS].policy
    model_id = step_id("initialization", [dataset], options, {})
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
    config = preset(options.preset, text_width=int(texts["width"]), num_breeds=len(samples["breeds"]))
    if samples["shape"] != [config.size_px, config.size_px, config.channels]:
        raise ValueError(
            f"initialization.preset={options.preset} draws {config.size_px} px pictures, but the dataset was "
            f"encoded with encoding.size_px={samples['shape'][0]}; make the two equal."
        )
    upper = load_text_tower(options.text_model, "cpu").upper()
    # A forked generator: the caller's random state is as it was.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        model = FlowModel(FlowUNet(config), upper)
    files = save_weights(task.store, f"{manifest.name}/models/{model_id}", model, Ema(model, decay=0.0))
    counters = {"parameters": sum(parameter.numel() for parameter in model.parameters())}
    details = {"description": model.describe(), "breeds": samples["breeds"], "stage": -1}
    return manifest.model_copy(update={"files": files, "counters": counters, "details": details}).save(
        task.store
    )
