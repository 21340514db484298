"""The rows of a demo set: clean pictures first, then the planted defects, each from its own random stream."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from pipelines.demo import defects
from pipelines.demo.captions import caption, caption_of_length, swap
from pipelines.demo.defects import Planted
from pipelines.demo.render import render
from pipelines.demo.spec import DogSpec, breed_spec

ALLOWED_SOURCES = ("breed_club", "vet_school")
OTHER_SOURCE = "social_media"
GOOD_LICENSES = ("CC0-1.0", "CC-BY-4.0")
BAD_LICENSES = ("all-rights-reserved", "unknown")
SIZES_PX = (160, 176, 192)


@dataclass
class Row:
    """One picture to be written.

    `image` is the rendered picture before any defect (H,W,3) uint8. `mask` belongs to the written file and is
    None where that cannot be decoded. `of` is the Row it copies.
    """

    spec: DogSpec
    image: np.ndarray
    caption: str
    data: bytes
    extension: str
    mask: np.ndarray | None
    size_px: tuple[int, int]
    source: str
    license: str
    defects: list[Planted] = field(default_factory=list)
    reviewed: bool = False
    of: "Row | None" = None


def clean_row(spec: DogSpec, rng: np.random.Generator, size_px: int = 0, lossless: bool | None = None) -> Row:
    """A picture without a defect; size and file type are drawn where they are not given."""
    size = size_px or int(rng.choice(SIZES_PX))
    image, mask = render(spec, size)
    as_png = rng.random() < 0.08 if lossless is None else lossless
    return Row(
        spec=spec,
        image=image,
        caption=caption(spec, int(rng.integers(2**31))).text,
        data=defects.png(image) if as_png else defects.jpeg(image, int(rng.integers(90, 96))),
        extension="png" if as_png else "jpg",
        mask=mask,
        size_px=(size, size),
        source=str(rng.choice(ALLOWED_SOURCES)),
        license=str(rng.choice(GOOD_LICENSES)),
    )


# Planters: (breed, rng, clean rows of that breed) -> one row with one planted defect.
Planter = Callable[[str, np.random.Generator, list[Row]], Row]


def _retouched(row: Row, image: np.ndarray) -> Row:
    return replace(row, data=defects.jpeg(image, 94), extension="jpg")


def _blurred(level: defects.Level) -> Planter:
    def plant(breed: str, rng: np.random.Generator, clean: list[Row]) -> Row:
        row = clean_row(breed_spec(breed, rng), rng)
        planted = Planted("laplacian_variance", level[0], level[1])
        return replace(_retouched(row, defects.blur(row.image, level[0])), defects=[planted])

    return plant


def _small(level: defects.Level) -> Planter:
    def plant(breed: str, rng: np.random.Generator, clean: list[Row]) -> Row:
        row = clean_row(breed_spec(breed, rng), rng, size_px=int(level[0]))
        return replace(row, defects=[Planted("min_side_px", level[0], level[1])])

    return plant


def _cast(level: defects.Level) -> Planter:
    def plant(breed: str, rng: np.random.Generator, clean: list[Row]) -> Row:
        row = clean_row(breed_spec(breed, rng), rng)
        tinted = defects.cast(row.image, level[0], float(rng.uniform(*defects.CAST_ANGLES)))
        return replace(_retouched(row, tinted), defects=[Planted("color_shift", level[0], level[1])])

    return plant


def _distant(level: defects.Level) -> Planter:
    def plant(breed: str, rng: np.random.Generator, clean: list[Row]) -> Row:
        pose = str(rng.choice(["stand", "sit"]))
        spec = breed_spec(
            breed, rng, pose=pose, facing=str(rng.choice(["left", "right"])), foreground=level[0]
        )
        return replace(clean_row(spec, rng), defects=[Planted("foreground_ratio", level[0], level[1])])

    return plant


def _mismatched(level: defects.Level) -> Planter:
    def plant(breed: str, rng: np.random.Generator, clean: list[Row]) -> Row:
        row = clean_row(breed_spec(breed, rng), rng)
        wrong = row.spec
        # A whole other dog in another place; severity counts statements made wrong, most telling first.
        order = ("breed", "palette", "background", "ears", "coat", "muzzle", "tail", "legs")
        seed = int(rng.integers(2**31))
        told = [name for name in order if name in caption(wrong, seed).mentions]
        for name in told[: int(level[0])]:
            wrong = swap(wrong, name, rng)
        planted = Planted("clip_similarity", min(level[0], len(told)), level[1])
        return replace(row, caption=caption(wrong, seed).text, defects=[planted])

    return plant


def _captioned(reason: str, level: defects.Level) -> Planter:
    def plant(breed: str, rng: np.random.Generator, clean: list[Row]) -> Row:
        row = clean_row(breed_spec(breed, rng), rng)
        text = caption_of_length(row.spec, int(rng.integers(2**31)), int(level[0])).text
        return replace(row, caption=text, defects=[Planted(reason, level[0], level[1])])

    return plant


def _vague(form: str, beyond: bool) -> Planter:
    def plant(breed: str, rng: np.random.Generator, clean: list[Row]) -> Row:
        row = clean_row(breed_spec(breed, rng), rng)
        text = form.format(
            caption_of_length(row.spec, int(rng.integers(2**31)), int(rng.integers(12, 24))).text
        )
        return replace(row, caption=text, defects=[Planted("caption_vague", float(beyond), beyond, form)])

    return plant


def _exact_copy(breed: str, rng: np.random.Generator, clean: list[Row]) -> Row:
    original = clean[int(rng.integers(len(clean)))]
    return replace(original, defects=[Planted("duplicate_exact", 1, True)], of=original, reviewed=False)


def _near_copy(kind: str) -> Planter:
    def plant(breed: str, rng: np.random.Generator, clean: list[Row]) -> Row:
        original = clean[int(rng.integers(len(clean)))]
        assert original.mask is not None
        new_mask, data = defects.near_duplicate(original.image, original.mask, kind)
        side = new_mask.shape[0]
        return replace(
            original,
            data=data,
            extension="jpg",
            mask=new_mask,
            size_px=(side, side),
            defects=[Planted("duplicate_near", 1, True, kind)],
            of=original,
            reviewed=False,
        )

    return plant


def _look_alike(breed: str, rng: np.random.Generator, clean: list[Row]) -> Row:
    """The same breed in the same pose and place, but another photo: not a duplicate."""
    model = clean[int(rng.integers(len(clean)))].spec
    row = clean_row(replace(model, seed=int(rng.integers(2**31))), rng)
    return replace(row, defects=[Planted("duplicate_near", 0, False, "look_alike")])


def _broken(kind: str) -> Planter:
    def plant(breed: str, rng: np.random.Generator, clean: list[Row]) -> Row:
        row = clean_row(breed_spec(breed, rng), rng)
        extension, data = defects.broken_file(row.image, kind, rng)
        return replace(
            row, data=data, extension=extension, mask=None, defects=[Planted("undecodable", 1, True, kind)]
        )

    return plant


def _odd(kind: str) -> Planter:
    def plant(breed: str, rng: np.random.Generator, clean: list[Row]) -> Row:
        row = clean_row(breed_spec(breed, rng), rng)
        extension, data = defects.odd_file(row.image, kind)
        return replace(row, data=data, extension=extension, defects=[Planted("undecodable", 0, False, kind)])

    return plant


def _owned(reason: str, **fields: str) -> Planter:
    def plant(breed: str, rng: np.random.Generator, clean: list[Row]) -> Row:
        kind = next(iter(fields.values()))
        row = clean_row(breed_spec(breed, rng), rng)
        return replace(row, defects=[Planted(reason, 1, True, kind)], **fields)  # type: ignore[arg-type]

    return plant


def planters() -> list[tuple[Planter, int]]:
    """Every planter with how many rows it makes in a set of the default size (about 250 together)."""
    table: list[tuple[Planter, int]] = []
    table += [(_blurred(level), 6) for level in defects.BLUR]
    table += [(_small(level), 4) for level in defects.SIDE]
    table += [(_cast(level), 6) for level in defects.CAST]
    table += [(_distant(level), 6) for level in defects.FOREGROUND]
    table += [(_mismatched(level), 9) for level in defects.MISMATCH]
    table += [(_captioned("caption_words_min", level), 4) for level in defects.WORDS_MIN]
    table += [(_captioned("caption_words_max", level), 4) for level in defects.WORDS_MAX]
    table += [(_vague(form, beyond), 4) for form, beyond in defects.VAGUE]
    table += [(_exact_copy, 12), (_look_alike, 8)]
    table += [(_near_copy(kind), 4) for kind in defects.NEAR]
    table += [(_broken(kind), 3) for kind in defects.BROKEN]
    table += [(_odd(kind), 2) for kind in defects.ODD]
    table += [(_owned("license", license=name), 5) for name in BAD_LICENSES]
    table += [(_owned("source", source=OTHER_SOURCE), 6)]
    return table


def rows(
    seed: int, clean_per_breed: int, breeds: tuple[str, ...], defect_share: float, reviewed_share: float
) -> Iterator[Row]:
    """All rows in a fixed order. Each has its own random stream, so one more row changes no other."""
    clean: dict[str, list[Row]] = {breed: [] for breed in breeds}
    for b, breed in enumerate(breeds):
        for i in range(clean_per_breed):
            rng = np.random.default_rng([seed, 1, b, i])
            row = clean_row(breed_spec(breed, rng), rng)
            row.reviewed = i < round(reviewed_share * clean_per_breed)
            clean[breed].append(row)
            yield row
    if not clean_per_breed:
        return
    turn = 0
    for p, (plant, count) in enumerate(planters()):
        for i in range(max(round(count * defect_share), 1) if defect_share > 0 else 0):
            breed = breeds[turn % len(breeds)]
            turn += 1
            yield plant(breed, np.random.default_rng([seed, 2, p, i]), clean[breed])
