"""The demo's breeds: real names, each a fixed combination of shape attributes and a palette.

Every palette is shared by two breeds, so no colour histogram can tell more than the pair.
"""

from dataclasses import dataclass

EARS = ("erect", "drop", "button", "bat")
MUZZLES = ("long", "short")
LEGS = ("long", "short")
TAILS = ("curl", "straight", "docked", "plume")
COATS = ("smooth", "curly", "long")


@dataclass(frozen=True)
class Breed:
    """`names` are what captions call it; `build`, 0 (slender) to 1 (stocky), is never captioned."""

    names: tuple[str, ...]
    ears: str
    muzzle: str
    legs: str
    tail: str
    coat: str
    palette: str
    build: float


BREEDS: dict[str, Breed] = {
    "golden_retriever": Breed(
        ("golden retriever", "golden retriever dog"), "drop", "long", "long", "plume", "long", "gold", 0.6
    ),
    "labrador_retriever": Breed(
        ("Labrador retriever", "Labrador"), "drop", "long", "long", "straight", "smooth", "gold", 0.6
    ),
    "pembroke": Breed(
        ("Pembroke Welsh corgi", "Pembroke corgi"),
        "bat",
        "long",
        "short",
        "docked",
        "smooth",
        "red_white",
        0.55,
    ),
    "basenji": Breed(
        ("basenji", "basenji dog"), "erect", "long", "long", "curl", "smooth", "red_white", 0.15
    ),
    "pug": Breed(("pug", "pug dog"), "button", "short", "short", "curl", "smooth", "fawn_mask", 0.95),
    "french_bulldog": Breed(
        ("French bulldog", "French bulldog dog"),
        "bat",
        "short",
        "short",
        "docked",
        "smooth",
        "fawn_mask",
        1.0,
    ),
    "standard_poodle": Breed(
        ("standard poodle", "standard poodle dog"), "drop", "long", "long", "straight", "curly", "white", 0.2
    ),
    "samoyed": Breed(("Samoyed", "Samoyed dog"), "erect", "long", "long", "curl", "long", "white", 0.7),
}


def palette_pairs() -> list[tuple[str, str]]:
    """Pairs of breeds with the same palette, in the table's order."""
    keys = list(BREEDS)
    return [
        (a, b) for i, a in enumerate(keys) for b in keys[i + 1 :] if BREEDS[a].palette == BREEDS[b].palette
    ]
