"""Pictures and captions for training the demo's CLIP model, and which caption is true of which picture."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from components.data.breeds import default_breeds
from pipelines.demo.breeds import BREEDS
from pipelines.demo.captions import Caption, caption, caption_of_length, swapped_caption
from pipelines.demo.render import render
from pipelines.demo.spec import ATTRIBUTES, DogSpec, breed_spec, free_spec, held_out

POOL_PX = 88  # pictures are kept a little larger than the model's input, for crops
# Every attribute a caption can state, with the breed, in a fixed order: the columns of the code arrays.
VALUES: dict[str, tuple[str, ...]] = {"breed": tuple(BREEDS), **ATTRIBUTES}
UNSAID = -1
_HIDDEN = -2  # not visible in the picture: neither true nor to be learnt

BREED_TEMPLATES = (
    "a photo of {article} {name}, a type of dog.",
    "a photo of {article} {name}.",
    "a close-up photo of {article} {name} dog.",
    "a purebred {name}",
    "{name}",
)


def attribute_codes(spec: DogSpec) -> np.ndarray:
    """The picture's value of every attribute of VALUES (9,) int64; hidden ones are marked."""
    codes = [
        values.index(str(getattr(spec, name))) if getattr(spec, name) else _HIDDEN
        for name, values in VALUES.items()
    ]
    if spec.pose == "head":
        for name in ("legs", "tail"):
            codes[list(VALUES).index(name)] = _HIDDEN
    return np.array(codes)


def mention_codes(told: Caption) -> np.ndarray:
    """What a caption states of every attribute of VALUES (9,) int64; UNSAID where it says nothing."""
    return np.array(
        [VALUES[name].index(told.mentions[name]) if name in told.mentions else UNSAID for name in VALUES]
    )


def truth(attributes: np.ndarray, mentions: np.ndarray) -> np.ndarray:
    """Which captions are true of which pictures: (B,9), (T,9) -> (B,T) bool."""
    stated = mentions[None] != UNSAID
    return ~(stated & (mentions[None] != attributes[:, None])).any(2)


@dataclass(frozen=True)
class Pool:
    """Rendered pictures (N,3,POOL_PX,POOL_PX) uint8 with their specs and attribute codes (N,9)."""

    pictures: torch.Tensor
    specs: list[DogSpec]
    codes: np.ndarray


def render_pool(count: int, seed: int) -> Pool:
    """A third dogs of a breed, the others of none, none in a held-out combination; some are small."""
    rng = np.random.default_rng([seed, 11])
    breeds = tuple(BREEDS)
    specs: list[DogSpec] = []
    while len(specs) < count:
        fixed: dict[str, Any] = {}
        if rng.random() < 0.1:
            fixed = {"pose": str(rng.choice(["stand", "sit"])), "facing": str(rng.choice(["left", "right"]))}
            fixed["foreground"] = float(rng.uniform(0.06, 0.28))
        if len(specs) % 3 == 0:
            spec = breed_spec(str(rng.choice(breeds)), rng, **fixed)
        else:
            spec = free_spec(rng, **fixed)
        if not held_out(spec):
            specs.append(spec)
    pictures = np.stack([render(spec, POOL_PX)[0] for spec in specs])
    tensor = torch.from_numpy(pictures).permute(0, 3, 1, 2).contiguous()
    return Pool(tensor, specs, np.stack([attribute_codes(spec) for spec in specs]))


@dataclass(frozen=True)
class Texts:
    """Captions with what they state: (T,) strings and (T,9) codes."""

    texts: list[str]
    codes: np.ndarray


def caption_batch(specs: list[DogSpec], wrong_per_picture: int, rng: np.random.Generator) -> Texts:
    """For B pictures: B true captions, then B * wrong_per_picture with one wrong statement each.

    The wrong captions of picture i are at B + i * wrong_per_picture and after.
    """
    told, wrong = [], []
    for spec in specs:
        seed = int(rng.integers(2**31))
        right = caption(spec, seed)
        if rng.random() < 0.12:  # short and long ones too
            right = caption_of_length(spec, seed, int(rng.integers(3, 48)))
        told.append(right)
        wrong += [swapped_caption(spec, seed, rng)[0] for _ in range(wrong_per_picture)]
    both = told + wrong
    return Texts([c.text for c in both], np.stack([mention_codes(c) for c in both]))


def breed_prompts(rng: np.random.Generator, others: int) -> list[str]:
    """A prompt for each demo breed in order, then for `others` breeds that the demo does not draw."""
    table = default_breeds()
    names = [table[key].name for key in BREEDS]
    rest = [breed.name for breed in table.breeds.values() if breed.key not in BREEDS]
    names += [rest[i] for i in rng.permutation(len(rest))[:others]]
    template = BREED_TEMPLATES[int(rng.integers(len(BREED_TEMPLATES)))]
    return [template.format(name=name, article="an" if name[0].lower() in "aeiou" else "a") for name in names]


def augment(pictures: torch.Tensor, size_px: int, rng: np.random.Generator) -> torch.Tensor:
    """(B,3,P,P) uint8 -> (B,3,size_px,size_px) float32 in 0..1: crop, mirror, light, tint, blur."""
    batch = len(pictures)
    side = int(rng.integers(POOL_PX - 8, POOL_PX + 1)) if rng.random() < 0.7 else POOL_PX
    x, y = (int(v) for v in rng.integers(0, POOL_PX - side + 1, 2))
    images = pictures[:, :, y : y + side, x : x + side].float() / 255
    images = F.interpolate(images, (size_px, size_px), mode="bilinear", antialias=True, align_corners=False)
    mirrored = torch.from_numpy(rng.random(batch) < 0.5)
    images[mirrored] = images[mirrored].flip(3)
    gain = torch.from_numpy(rng.uniform(0.85, 1.15, (batch, 1, 1, 1))).float()
    tint = torch.from_numpy(
        rng.normal(0, 0.02, (batch, 3, 1, 1)) * (rng.random((batch, 1, 1, 1)) < 0.4)
    ).float()
    images = images * gain + tint
    soft = torch.from_numpy(rng.random(batch) < 0.12)
    if bool(soft.any()):
        images[soft] = _soften(images[soft], float(rng.uniform(0.4, 1.0)))
    return images.clamp(0, 1)


def _soften(images: torch.Tensor, sigma_px: float) -> torch.Tensor:
    """Gaussian blur with a 7-tap separable kernel."""
    taps = torch.exp(-0.5 * (torch.arange(-3.0, 4.0) / sigma_px) ** 2)
    taps = (taps / taps.sum()).expand(3, 1, 1, 7)
    padded = F.pad(images, (3, 3, 3, 3), mode="replicate")
    return F.conv2d(F.conv2d(padded, taps, groups=3), taps.transpose(2, 3), groups=3)
