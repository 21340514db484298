"""A network with fresh weights, sized for an encoded dataset."""

from collections.abc import Mapping
from typing import Any

import safetensors.torch
import torch

from components.data.encoded import SAMPLES
from components.data.manifest import DatasetManifest
from components.initialization.options import InitializationOptions
from components.model.flow_model import FlowModel, build_network
from components.model.network import NetworkConfig, preset
from components.model.published import UNET
from components.model.text import load_text_tower
from components.model.weights import resolve


def fresh_model(dataset: DatasetManifest, options: InitializationOptions) -> FlowModel:
    """The preset's network for the breeds, texts and picture size of `dataset`.

    Raises ValueError when the preset draws pictures of another size, and WeightsError or WeightsMismatch for
    U-Net weights that are not there or do not fit.
    """
    samples = dataset.groups[SAMPLES].policy
    upper = load_text_tower(options.text_model, "cpu").upper()
    config = preset(
        options.preset,
        text_width=upper.width,
        num_breeds=len(samples["breeds"]),
        breed_modules=tuple(options.breed_modules),
        channel_attention=options.channel_attention,
        projection=options.projection,
    )
    _check_samples(samples, config)
    # A forked generator: the caller's random state is as it was.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        network = build_network(config)
    if options.unet:
        network.load_published(safetensors.torch.load_file(resolve(options.unet, UNET).path))
    return FlowModel(network, upper)


def _check_samples(policy: Mapping[str, Any], config: NetworkConfig) -> None:
    """That the network works on what the dataset holds. Raises ValueError with the option to change."""
    size_px = policy["shape"][0]
    if size_px != config.size_px:
        raise ValueError(
            f"initialization.preset={config.preset} draws {config.size_px} px pictures, but the dataset was "
            f"encoded with encoding.size_px={size_px}; make the two equal."
        )
    latents = policy.get("latents")
    if latents is None and config.scale > 1:
        raise ValueError(
            f"initialization.preset={config.preset} works on latents, but the dataset was encoded without an "
            "autoencoder; set encoding.autoencoder to its folder."
        )
    if latents is not None and tuple(latents["shape"]) != config.sample_shape:
        raise ValueError(
            f"initialization.preset={config.preset} works on samples of shape {list(config.sample_shape)}, "
            f"but encoding.autoencoder gives latents of shape {latents['shape']}; use another preset or "
            "another autoencoder (none, for a preset that works on pixels)."
        )
