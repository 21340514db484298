"""Networks by preset, all behind one interface: net(x_t, t, text, text_mask, breed) -> v."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

BreedModule = Literal["time", "gate", "conv_in"]
BREED_MODULES: tuple[BreedModule, ...] = get_args(BreedModule)


@dataclass(frozen=True)
class NetworkConfig:
    """What a network is built from; `text_width` and `num_breeds` come from the data, `preset` is its name.

    kind: the U-Net of unet.py or the diffusion transformer of dit.py.
    size_px: side of the pictures. scale: pixels a sample, along a side; 8 for latents of SD's autoencoder.
    channels: of a sample; 3 for pixels, 4 for those latents.
    patch: squares of this many samples become channels (U-Net) or a token (transformer), and samples again
    at the end. The finest level of a pixel U-Net costs most and knows least; 2 drops it (a third of the time
    at equal quality on the demo set, measured on 2 cores).
    widths: channels of each level of the U-Net, finest first; in a transformer one, the tokens' width.
    attention: whether the blocks of each width attend to the text (and to themselves), widest last.
    layers: blocks a level, or in all. heads: attention heads per block. groups: group-norm groups; it must
    divide every width, and a group of one channel would erase that channel's mean, hence 8 and not diffusers'
    32 for narrow networks.
    breed_modules: what tells the breed, see breed.py. breed_width: of the breed embedding.
    channel_attention: a gate on the channels after the widest level. projection: width of the features for
    the contrastive loss; 0 for none.
    """

    preset: str = "demo"
    kind: Literal["unet", "dit"] = "unet"
    size_px: int = 32
    scale: int = 1
    channels: int = 3
    patch: int = 2
    widths: tuple[int, ...] = (32, 64, 96)
    attention: tuple[bool, ...] = (False, True, True)
    layers: int = 1
    heads: int = 4
    groups: int = 8
    text_width: int = 64
    num_breeds: int = 8
    breed_modules: tuple[BreedModule, ...] = ("time",)
    breed_width: int = 256
    channel_attention: bool = False
    projection: int = 0

    def __post_init__(self) -> None:
        unknown = sorted(set(self.breed_modules) - set(BREED_MODULES))
        if unknown:
            raise ValueError(
                f"breed module {unknown[0]!r} is unknown; use some of: {', '.join(BREED_MODULES)}"
            )

    @property
    def sample_shape(self) -> tuple[int, int, int]:
        """(C, H, W) of one sample."""
        side = self.size_px // self.scale
        return self.channels, side, side

    @property
    def condition_width(self) -> int:
        """Width of what gates see: the pooled text beside the breed embedding."""
        return self.text_width + self.breed_width

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> NetworkConfig:
        """Inverse of `to_dict`, also after a trip through JSON (lists become tuples)."""
        fitted: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**fitted)


_LATENTS: dict[str, Any] = {"scale": 8, "channels": 4, "text_width": 768}
_SD15: dict[str, Any] = {
    **_LATENTS,
    "patch": 1,
    "widths": (320, 640, 1280, 1280),
    "attention": (True, True, True, False),
    "layers": 2,
    "heads": 8,
    "groups": 32,
}
PRESETS: dict[str, NetworkConfig] = {
    "demo": NetworkConfig(),
    # The layout of Stable Diffusion 1.5, whose weights fit.
    "sd15-512": NetworkConfig("sd15-512", size_px=512, **_SD15),
    "sd15-1024": NetworkConfig("sd15-1024", size_px=1024, **_SD15),
    "unet-1b": NetworkConfig("unet-1b", size_px=512, **{**_SD15, "widths": (384, 768, 1344, 1344)}),
    "dit-b": NetworkConfig(
        "dit-b",
        "dit",
        size_px=512,
        **_LATENTS,
        patch=2,
        widths=(768,),
        attention=(True,),
        layers=12,
        heads=12,
    ),
}


def preset(name: str, *, text_width: int, num_breeds: int, **changes: Any) -> NetworkConfig:
    """A row of the preset table, fitted to the text encoder and the breed table in use."""
    if name not in PRESETS:
        raise ValueError(f"network preset {name!r} is unknown; use one of: {', '.join(PRESETS)}")
    return replace(PRESETS[name], text_width=text_width, num_breeds=num_breeds, **changes)
