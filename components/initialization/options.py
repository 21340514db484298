"""Options of the initialization step."""

from components.data.options import StepOptions, option
from components.model.network import BreedModule


class InitializationOptions(StepOptions):
    """What the first training stage starts from."""

    preset: str = option("demo", "network preset")
    breed_modules: list[BreedModule] = option(
        ["time"], "what tells the network the breed: time, gate (in every cross-attention), conv_in"
    )
    channel_attention: bool = option(False, "gate on the channels after the U-Net's widest level")
    projection: int = option(0, "width of the features for the contrastive loss (0: none)", ge=0)
    text_model: str = option(
        "ViT-L-14/openai", "open_clip model whose upper text layers are trained; as in encoding"
    )
    unet: str = option(
        "", "folder of a diffusers U-Net to start from, such as Stable Diffusion 1.5's (empty: fresh weights)"
    )
    seed: int = option(0, "seed of the fresh weights", ge=0)


OPTIONS = InitializationOptions
