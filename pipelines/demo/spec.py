"""What one picture shows: the description from which both the picture and its caption are made."""

import zlib
from dataclasses import dataclass

import numpy as np

from pipelines.demo.breeds import BREEDS, COATS, EARS, LEGS, MUZZLES, TAILS
from pipelines.demo.palettes import PALETTES

POSES = ("stand", "sit", "head")
FACINGS = ("left", "right", "front")
BACKGROUNDS = ("studio", "grass", "beach", "indoor", "snow", "street")
# Never used in a demo set or in training: the segmenter is tested on them.
HELD_OUT_BACKGROUNDS = ("autumn", "deck")
# Foreground ratios (mask area / picture area) of a clean picture. A head fills more.
CLEAN_FOREGROUND = {"stand": (0.29, 0.35), "sit": (0.29, 0.35), "head": (0.42, 0.54)}

# Attribute -> its values: what a caption can say and a swap can change.
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "ears": EARS,
    "muzzle": MUZZLES,
    "legs": LEGS,
    "tail": TAILS,
    "coat": COATS,
    "palette": tuple(PALETTES),
    "pose": POSES,
    "background": BACKGROUNDS,
}


@dataclass(frozen=True)
class DogSpec:
    """One dog in one picture.

    `breed` is a key of BREEDS, or "" for a dog of no breed with any combination of attributes. A head is
    seen from the front or in profile; other poses in profile. `foreground` is the wanted mask area /
    picture area. `seed` fixes every jitter (proportions, light, background details).
    """

    breed: str
    ears: str
    muzzle: str
    legs: str
    tail: str
    coat: str
    palette: str
    build: float
    pose: str
    facing: str
    background: str
    foreground: float
    seed: int


def held_out(spec: DogSpec) -> bool:
    """Whether the combination of ears, tail, coat, palette and background is one of the fifth that the CLIP
    model never sees in training; its AUC is measured on these."""
    combination = "|".join((spec.ears, spec.tail, spec.coat, spec.palette, spec.background))
    return zlib.crc32(combination.encode()) % 5 == 0


def _setting(rng: np.random.Generator, backgrounds: tuple[str, ...]) -> dict:
    pose = str(rng.choice(POSES, p=[0.42, 0.33, 0.25]))
    facing = "front" if pose == "head" and rng.random() < 0.6 else str(rng.choice(["left", "right"]))
    return {
        "pose": pose,
        "facing": facing,
        "background": str(rng.choice(backgrounds)),
        "foreground": float(rng.uniform(*CLEAN_FOREGROUND[pose])),
        "seed": int(rng.integers(2**31)),
    }


def breed_spec(
    breed: str, rng: np.random.Generator, backgrounds: tuple[str, ...] = BACKGROUNDS, **fixed: object
) -> DogSpec:
    """A dog of `breed` in a random setting; `fixed` overrides fields of DogSpec."""
    look = BREEDS[breed]
    fields = {
        name: getattr(look, name) for name in ("ears", "muzzle", "legs", "tail", "coat", "palette", "build")
    }
    return DogSpec(**({"breed": breed} | fields | _setting(rng, backgrounds) | fixed))


def free_spec(
    rng: np.random.Generator, backgrounds: tuple[str, ...] = BACKGROUNDS, **fixed: object
) -> DogSpec:
    """A dog of no breed: every attribute is drawn on its own; `fixed` overrides fields of DogSpec."""
    fields: dict[str, object] = {
        name: str(rng.choice(ATTRIBUTES[name]))
        for name in ("ears", "muzzle", "legs", "tail", "coat", "palette")
    }
    fields["build"] = float(rng.random())
    return DogSpec(**({"breed": ""} | fields | _setting(rng, backgrounds) | fixed))
