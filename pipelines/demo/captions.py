"""Truthful captions with varied wording, and what each one says.

A caption is a function of (spec, seed): changing one attribute of the spec and keeping the seed changes only
the words for that attribute. That is how one-attribute swaps are made for training and for the AUC test.
"""

from dataclasses import dataclass, replace

import numpy as np

from pipelines.demo.breeds import BREEDS
from pipelines.demo.palettes import PALETTES
from pipelines.demo.spec import ATTRIBUTES, DogSpec

# The words that may stand for each value. No hyphens: a word counter must not have to decide about them.
PHRASES: dict[str, dict[str, tuple[str, ...]]] = {
    "ears": {
        "erect": ("erect pointed ears", "upright triangular ears", "pricked ears"),
        "drop": ("drop ears", "long hanging ears", "pendant ears"),
        "button": ("small folded button ears", "button ears"),
        "bat": ("large bat ears", "big rounded bat ears"),
    },
    "muzzle": {
        "long": ("a long muzzle", "a long narrow snout"),
        "short": ("a short flat muzzle", "a short blunt snout"),
    },
    "legs": {
        "long": ("long legs", "tall slender legs"),
        "short": ("short legs", "short stubby legs"),
    },
    "tail": {
        "curl": ("a curled tail", "a tightly coiled tail"),
        "straight": ("a straight tail", "a straight tapering tail"),
        "docked": ("a docked tail", "a very short stub tail"),
        "plume": ("a feathery plume tail", "a bushy plume tail"),
    },
    "coat": {
        "smooth": ("a smooth short coat", "a sleek smooth coat"),
        "curly": ("a curly coat", "a tightly curled woolly coat"),
        "long": ("a long shaggy coat", "long flowing fur"),
    },
    "palette": {key: palette.phrases for key, palette in PALETTES.items()},
    "pose": {
        "stand": ("standing", "standing in profile"),
        "sit": ("sitting", "seated"),
        "head": ("in a close head portrait", "in a head and shoulders portrait"),
    },
    "background": {
        "studio": ("in a studio with a plain gray background", "before a plain gray backdrop"),
        "grass": ("on green grass in a park", "on a meadow with trees"),
        "beach": ("on a sandy beach by the sea", "at the beach with the sea behind"),
        "indoor": ("indoors on a wooden floor", "in a living room with a window"),
        "snow": ("in the snow with fir trees", "in a snowy winter landscape"),
        "street": ("on a pavement by a brick wall", "on a street with a brick wall"),
    },
}
_HIDDEN_IN_HEAD = ("legs", "tail")
_BREEDLESS = ("dog", "mixed breed dog", "little dog")
_LIGHT = (
    "soft even light",
    "natural daylight",
    "gentle diffuse light",
    "clear bright light",
    "calm light",
    "",
)
# {dog}: name or noun; {color} coat colour; {a}, {b}: attribute phrases; {pose}; {place}; {light}.
_TEMPLATES = (
    "a photo of a {color} {dog} with {a} and {b} {pose} {place}, {light}",
    "{dog} {pose} {place}, {color} coat, {a}, {b}, {light}",
    "this {color} {dog} has {a} and {b}, it is {pose} {place}, {light}",
    "a {dog} with {a} and {b}, {color} in color, {pose} {place}, {light}",
    "a purebred {dog}, {a}, {b}, {color} coat, {pose}, {place}, {light}",
    "{pose} {place}, a {color} {dog} with {a} and {b}, {light}",
)
# True of every picture; they lengthen a caption.
_REMARKS = (
    "with a collar around the neck",
    "seen at eye level",
    "with dark round eyes and a dark nose",
    "the only animal in the picture",
    "and no people are present",
    "drawn in a clear and simple style with dark outlines",
)
_MAX_WORDS = 32  # the longest clean caption; the light is left out where it would be longer


def _subsets(parts: int, name: int, joined: int) -> np.ndarray:
    """Which of `parts` parts to say (K, parts) float32: always `name`; `joined` only after the one before."""
    bits = (np.arange(1 << parts)[:, None] >> np.arange(parts)) & 1
    allowed = (bits[:, name] == 1) & (bits[:, joined] <= bits[:, joined - 1])
    return bits[allowed].astype(np.float32)


# The parts of caption_of_length: its fifth is the name, its seventh goes on with "and".
_SUBSETS = _subsets(15, 4, 6)


@dataclass(frozen=True)
class Caption:
    """The text and the attributes it states (names of spec.ATTRIBUTES, and "breed" where it names one)."""

    text: str
    mentions: dict[str, str]


def caption(spec: DogSpec, seed: int) -> Caption:
    """A caption of 10 to 34 words that is true of the picture of `spec`."""
    rng = np.random.default_rng([seed, 77])
    u = rng.random(12)
    mentions: dict[str, str] = {}

    def say(attribute: str, at: float) -> str:
        value = str(getattr(spec, attribute))
        mentions[attribute] = value
        bank = PHRASES[attribute][value]
        return bank[int(at * len(bank))]

    visible = [name for name in ("ears", "muzzle", "legs", "tail", "coat") if _visible(spec, name)]
    order = np.argsort(rng.random(5))
    first, second = [visible[i] for i in order if i < len(visible)][:2]
    parts = {"a": say(first, u[0]), "b": say(second, u[1])}
    parts["color"], parts["pose"], parts["place"] = (
        say("palette", u[2]),
        say("pose", u[3]),
        say("background", u[4]),
    )
    if spec.breed:
        names = BREEDS[spec.breed].names
        mentions["breed"] = spec.breed
        parts["dog"] = names[int(u[5] * len(names))]
    else:
        parts["dog"] = _BREEDLESS[int(u[5] * len(_BREEDLESS))]
    # "a purebred dog" says nothing true of a dog without a breed.
    templates = [t for t in _TEMPLATES if spec.breed or "purebred" not in t]
    template = templates[int(u[6] * len(templates))]
    text = template.format(light=_LIGHT[int(u[7] * len(_LIGHT))], **parts)
    if len(text.split()) > _MAX_WORDS:
        text = template.format(light="", **parts)
    return Caption(_polish(text, upper=u[8] < 0.5, stop=u[9] < 0.5), mentions)


def caption_of_length(spec: DogSpec, seed: int, words: int) -> Caption:
    """A true caption of exactly `words` words (3..55), for captions that are too short or too long."""
    rng = np.random.default_rng([seed, words, 78])
    names = BREEDS[spec.breed].names if spec.breed else _BREEDLESS
    visible = [name for name in ("ears", "muzzle", "legs", "tail", "coat") if _visible(spec, name)]
    first, second = (visible[i] for i in rng.permutation(len(visible))[:2])

    def say(name: str) -> str:
        return str(rng.choice(PHRASES[name][getattr(spec, name)]))

    # (words, the attribute they state)
    parts = [
        ("a", ""),
        ("cute", ""),
        ("friendly", ""),
        (say("palette"), "palette"),
        (str(rng.choice(names)), "breed"),
    ]
    parts += [(f"with {say(first)}", first), (f"and {say(second)}", second)]
    parts += [(say("pose"), "pose"), (say("background"), "background")]
    parts += [(str(remark), "") for remark in rng.permutation(_REMARKS)]
    # Every part but the name may be left out; take any subset with the right count.
    counts = np.array([len(part.split()) for part, _ in parts], np.float32)
    fits = np.flatnonzero(_SUBSETS @ counts == words)
    if not len(fits):
        raise ValueError(f"No caption of {words} words can be made; ask for 3 to 55.")
    taken = _SUBSETS[rng.choice(fits)]
    chosen = [part for part, keep in zip(parts, taken, strict=True) if keep]
    mentions = {name: str(getattr(spec, name)) for _, name in chosen if name and getattr(spec, name)}
    return Caption(_polish(" ".join(part for part, _ in chosen), True, False), mentions)


def swap(spec: DogSpec, attribute: str, rng: np.random.Generator) -> DogSpec:
    """The spec with another value of `attribute` ("breed" changes the name alone)."""
    if attribute == "breed":
        others = [key for key in BREEDS if key != spec.breed]
        return replace(spec, breed=str(rng.choice(others)))
    values = PHRASES["background"] if attribute == "background" else ATTRIBUTES[attribute]
    others = [value for value in values if value != getattr(spec, attribute)]
    if attribute == "pose":  # a head shows no legs and no tail: only whole bodies are exchanged
        others = [value for value in others if (value == "head") == (spec.pose == "head")] or ["stand"]
    return replace(spec, **{attribute: str(rng.choice(others))})  # type: ignore[arg-type]


def swapped_caption(spec: DogSpec, seed: int, rng: np.random.Generator) -> tuple[Caption, str]:
    """The caption of `seed` with exactly one stated attribute made wrong, and that attribute's name."""
    told = caption(spec, seed)
    choices = [name for name in told.mentions if name != "pose" or spec.pose != "head"]
    attribute = str(rng.choice(choices))
    return caption(swap(spec, attribute, rng), seed), attribute


def _visible(spec: DogSpec, attribute: str) -> bool:
    return spec.pose != "head" or attribute not in _HIDDEN_IN_HEAD


def _polish(text: str, upper: bool, stop: bool) -> str:
    text = text.strip().rstrip(",")
    for vowel in "aeiou":
        text = text.replace(f" a {vowel}", f" an {vowel}")
        if text.startswith(f"a {vowel}"):
            text = f"an {text[2:]}"
    if upper:
        text = text[0].upper() + text[1:]
    return text + "." if stop else text
