"""Options of the encoding step."""

from components.data.options import StepOptions, option


class EncodingOptions(StepOptions):
    """What training reads: pictures of one size and text states."""

    size_px: int = option(1024, "side of the square training picture", ge=8, le=4096)
    text_model: str = option(
        "ViT-L-14/openai", "open_clip model whose text tower encodes captions and prompts"
    )
    autoencoder: str = option(
        "", "folder of a diffusers autoencoder whose latents are trained on (empty: the pixels themselves)"
    )
    device: str = option("auto", "auto, cpu, cuda or mps", identity=False)
    workers: int = option(0, "threads (0: one per core)", identity=False, ge=0)


OPTIONS = EncodingOptions
