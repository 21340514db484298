"""A network with fresh weights, sized for an encoded dataset."""

import torch

from components.data.encoded import SAMPLES
from components.data.manifest import DatasetManifest
from components.initialization.options import InitializationOptions
from components.model.flow_model import FlowModel, build_network
from components.model.network import preset
from components.model.text import load_text_tower


def fresh_model(dataset: DatasetManifest, options: InitializationOptions) -> FlowModel:
    """The preset's network for the breeds, texts and picture size of `dataset`.

    Raises ValueError when the preset draws pictures of another size.
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
    channels, height, width = config.sample_shape
    if samples["shape"] != [height, width, channels]:
        raise ValueError(
            f"initialization.preset={options.preset} draws {config.size_px} px pictures, but the dataset was "
            f"encoded with encoding.size_px={samples['shape'][0]}; make the two equal."
        )
    # A forked generator: the caller's random state is as it was.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        return FlowModel(build_network(config), upper)
