"""Options of the initialization step."""

from components.data.options import StepOptions, option


class InitializationOptions(StepOptions):
    """What the first training stage starts from."""

    preset: str = option("demo", "network preset")
    text_model: str = option(
        "ViT-L-14/openai", "open_clip model whose upper text layers are trained; as in encoding"
    )
    seed: int = option(0, "seed of the fresh weights", ge=0)


OPTIONS = InitializationOptions
