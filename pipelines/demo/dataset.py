"""Writes a demo set: pictures with captions as a user would bring them, and the truth about them beside it.

<folder>/images/<breed>/<breed>_0001.jpg   pictures, defective ones among them
<folder>/captions.jsonl                    file, caption, breed, source, license, reviewed: what ingest reads
<folder>/truth.jsonl                       what is really there: attributes, foreground ratio, planted defects
<folder>/masks/<breed>/<breed>_0001.png    the exact mask, 255 on the dog (none for undecodable files)

`python -m pipelines.demo.dataset FOLDER` makes one from the command line.
"""

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path

import cv2
import numpy as np

from pipelines.demo.breeds import BREEDS
from pipelines.demo.defects import png
from pipelines.demo.rows import Row, rows


def make_dataset(
    folder: Path,
    seed: int = 0,
    clean_per_breed: int = 64,
    *,
    defect_share: float = 1.0,
    reviewed_share: float = 0.25,
    breeds: tuple[str, ...] = tuple(BREEDS),
    prefix: str = "",
) -> Path:
    """Writes a demo set into `folder` and returns it; the same arguments give the same bytes.

    `defect_share` scales the planted defects (1: about 290 rows, 0: none). `prefix` starts every file name,
    so that a second, smaller set can be added to a folder that ingest has already seen; captions.jsonl and
    truth.jsonl are then appended to.

    Raises ValueError for an unknown breed or a folder that already holds these files.
    """
    unknown = [breed for breed in breeds if breed not in BREEDS]
    if unknown:
        raise ValueError(f"Unknown demo breed {unknown[0]!r}; choose from {', '.join(BREEDS)}.")
    cv2.setNumThreads(1)
    made = list(rows(seed, clean_per_breed, breeds, defect_share, reviewed_share))
    names = _names(made, seed, prefix)
    listed = folder / "captions.jsonl"
    if any((folder / name).exists() for name in names[:1]):
        raise ValueError(f"{folder} already holds {names[0]}; choose an empty folder or another prefix.")
    place = {id(row): name for row, name in zip(made, names, strict=True)}
    pairs = sorted(zip(names, made, strict=True), key=lambda pair: pair[0])
    for name, row in pairs:
        _write_files(folder, name, row)
    with listed.open("a", encoding="utf-8") as captions, (folder / "truth.jsonl").open("a") as truth:
        for name, row in pairs:
            captions.write(json.dumps(_listed(name, row), ensure_ascii=False) + "\n")
            truth.write(json.dumps(_truth(name, row, place)) + "\n")
    return folder


def _names(made: list[Row], seed: int, prefix: str) -> list[str]:
    """Numbered per breed in a random order, so that a name does not tell a defect."""
    names = [""] * len(made)
    counts: dict[str, int] = {}
    for i in np.random.default_rng([seed, 3]).permutation(len(made)):
        row = made[int(i)]
        breed = row.spec.breed
        counts[breed] = counts.get(breed, 0) + 1
        names[int(i)] = f"images/{breed}/{prefix}{breed}_{counts[breed]:04d}.{row.extension}"
    return names


def _mask_name(name: str) -> str:
    return str(Path("masks", *Path(name).parts[1:]).with_suffix(".png"))


def _write_files(folder: Path, name: str, row: Row) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(row.data)
    if row.mask is not None:
        mask = folder / _mask_name(name)
        mask.parent.mkdir(parents=True, exist_ok=True)
        mask.write_bytes(png(row.mask.astype(np.uint8) * 255))


def _listed(name: str, row: Row) -> dict:
    return {
        "file": name,
        "caption": row.caption,
        "breed": row.spec.breed,
        "source": row.source,
        "license": row.license,
        "reviewed": row.reviewed,
    }


def _truth(name: str, row: Row, place: dict[int, str]) -> dict:
    of = place[id(row.of)] if row.of is not None else ""
    decodable = row.mask is not None
    return {
        "file": name,
        "breed": row.spec.breed,
        "attributes": asdict(row.spec),
        "caption_words": len(row.caption.split()),
        "width_px": row.size_px[0] if decodable else None,
        "height_px": row.size_px[1] if decodable else None,
        "foreground_ratio": round(float(row.mask.mean()), 6) if row.mask is not None else None,
        "mask": _mask_name(name) if decodable else None,
        "defects": [replace(planted, of=of).record() for planted in row.defects],
    }


def main() -> None:
    """Command line: folder, seed and size of the set."""
    parser = argparse.ArgumentParser(
        description="Write a set of synthetic dog pictures with planted defects."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--clean-per-breed", type=int, default=64)
    parser.add_argument("--defect-share", type=float, default=1.0)
    options = parser.parse_args()
    folder = make_dataset(
        options.folder, options.seed, options.clean_per_breed, defect_share=options.defect_share
    )
    count = sum(1 for _ in (folder / "captions.jsonl").open(encoding="utf-8"))
    print(f"{count} pictures in {folder}")


if __name__ == "__main__":
    main()
