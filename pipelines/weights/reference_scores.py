"""Scores of drawn pictures, to tell whether weights work and not only whether they are whole.

Two checks: the scores are sensible (the right caption wins, the mask is the disc), and they equal the values
recorded for that model. No values are recorded in this version: it was made without a network, so the
official weights could not be run. What `weights verify --scores` prints can be compared between machines.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from components.model.published import CLIP

# reference -> score name -> value. See the module's docstring for why it is empty.
EXPECTED: Mapping[str, Mapping[str, float]] = {}
TOLERANCE = 2e-3

SIDE_PX = 256
RADIUS_PX = 80
CAPTIONS = {
    "disc": "a red circle on a white background",
    "stripes": "black and white stripes",
}


@dataclass(frozen=True)
class ReferenceScores:
    """values by name; sensible: they mean what the pictures show; differences from recorded values."""

    reference: str
    values: dict[str, float]
    sensible: bool
    recorded: bool
    differences: dict[str, float] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        return self.sensible and all(abs(value) <= TOLERANCE for value in self.differences.values())


def pictures() -> dict[str, np.ndarray]:
    """The drawn pictures: (256, 256, 3) uint8, the same on every machine."""
    rows, columns = np.indices((SIDE_PX, SIDE_PX)) - SIDE_PX // 2
    inside = rows**2 + columns**2 <= RADIUS_PX**2
    disc = np.where(inside[..., None], np.array([220, 30, 30], np.uint8), np.uint8(255))
    stripes = np.repeat(np.where(columns // 16 % 2, 255, 0).astype(np.uint8)[..., None], 3, axis=2)
    return {"disc": disc, "stripes": stripes}


def reference_scores(reference: str, kind: str, *, device: str = "auto") -> ReferenceScores:
    """Run the model in fp32 on the drawn pictures. Raises WeightsError when it is not on this machine."""
    values, sensible = (_clip if kind == CLIP else _sam)(reference, device)
    expected = EXPECTED.get(reference, {})
    differences = {name: values[name] - value for name, value in expected.items()}
    return ReferenceScores(reference, values, sensible, bool(expected), differences)


def _clip(reference: str, device: str) -> tuple[dict[str, float], bool]:
    from components.model.clip import load_clip

    model = load_clip(reference, device=device, dtype="fp32")
    drawn = pictures()
    cosines = model.embed_images(list(drawn.values())) @ model.embed_texts(list(CAPTIONS.values())).T
    values = {
        f"cosine {picture} x {caption}": float(cosines[row, column])
        for row, picture in enumerate(drawn)
        for column, caption in enumerate(CAPTIONS)
    }
    return values, bool(np.isfinite(cosines).all() and (cosines.argmax(axis=1) == [0, 1]).all())


def _sam(reference: str, device: str) -> tuple[dict[str, float], bool]:
    from components.foreground.prompts import Prompt, centre_point, centred_box
    from components.foreground.sam_segmenter import load_segmenter

    segmenter = load_segmenter(reference, device=device, dtype="fp32")
    prompts: list[Prompt] = [centred_box(SIDE_PX, SIDE_PX, 0.15), centre_point(SIDE_PX, SIDE_PX)]
    box, point = segmenter.segment([pictures()["disc"]], [prompts])[0]
    values = {
        "ratio disc, box": float(box.pixels.mean()),
        "predicted IoU disc, box": box.predicted_iou,
        "ratio disc, centre point": float(point.pixels.mean()),
        "predicted IoU disc, centre point": point.predicted_iou,
    }
    covered = np.pi * RADIUS_PX**2 / SIDE_PX**2
    return values, abs(values["ratio disc, box"] - covered) < 0.05 * covered
