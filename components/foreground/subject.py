"""All foreground scores of one picture, from the segmenter's answers."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from components.foreground.background import background_plain
from components.foreground.crop import Crop, crop_to_subject
from components.foreground.prompts import CENTRE_POINT
from components.foreground.ratio import Box, foreground_ratio, subject_box
from components.foreground.rle import encode
from components.foreground.segmenter import Mask
from components.foreground.sharpness import subject_sharpness

NO_MASK = "no subject was found"


@dataclass(frozen=True)
class SubjectScores:
    """Scores of one picture, named as the columns; boxes in px of the picture that was segmented.

    `reason` is "" or says why there is no subject; then every other field is None.
    """

    foreground_ratio: float | None = None
    foreground_ratio_point: float | None = None
    foreground_ratio_crop: float | None = None
    subject_box: Box | None = None
    crop_box: Box | None = None
    mask_rle: bytes | None = None
    subject_sharpness: float | None = None
    background_plain: bool | None = None
    predicted_iou: float | None = None
    reason: str = ""


def score_subject(
    image: np.ndarray,
    masks: Mapping[str, Mask],
    *,
    crop_ratio: float = 0.0,
    crop_aspect: float = 0.0,
    crop_min_side_px: int = 0,
) -> SubjectScores:
    """Scores from the masks by prompt name, of which the FIRST is the subject's (see prompts_for).

    image: (H, W, 3) uint8 sRGB. crop_ratio above 0 also crops to the subject (see crop_to_subject).
    """
    chosen = next(iter(masks.values()))
    ratio = foreground_ratio(chosen.pixels)
    if ratio is None:
        return SubjectScores(reason=NO_MASK)
    crop: Crop | None = None
    if crop_ratio > 0:
        crop = crop_to_subject(chosen.pixels, crop_ratio, aspect=crop_aspect, min_side_px=crop_min_side_px)
    point = masks.get(CENTRE_POINT)
    return SubjectScores(
        foreground_ratio=ratio,
        foreground_ratio_point=foreground_ratio(point.pixels) if point is not None else None,
        foreground_ratio_crop=crop.ratio if crop else None,
        subject_box=subject_box(chosen.pixels),
        crop_box=crop.box if crop else None,
        mask_rle=encode(chosen.pixels),
        subject_sharpness=subject_sharpness(image, chosen.pixels),
        background_plain=background_plain(image, chosen.pixels),
        predicted_iou=chosen.predicted_iou,
    )
