"""Cropping to the subject, so that it fills the wanted share of the picture."""

from dataclasses import dataclass

import numpy as np

from components.foreground.ratio import Box, box_ratio, subject_box


@dataclass(frozen=True)
class Crop:
    """box: x0, y0, x1, y1 in px. ratio: share of the crop that the mask covers, counted, not computed."""

    box: Box
    ratio: float


def crop_to_subject(
    mask: np.ndarray, wanted_ratio: float, *, aspect: float = 0.0, min_side_px: int = 0
) -> Crop | None:
    """The largest crop around the subject that it still fills to `wanted_ratio`; None for an empty mask.

    mask: (H, W) bool. aspect: width / height of the crop, 1 for a square, 0 for any (the subject's own). The
    crop starts as the smallest one around the subject and grows evenly until the ratio has fallen to
    `wanted_ratio`, centred on the subject and pushed back inside the picture; where one side meets the
    picture's, the other goes on. `min_side_px` makes it grow further, and the ratio fall further: too few
    pixels are worse than a small subject. When even the smallest crop has less than `wanted_ratio`, that one
    is returned, with its true ratio. A subject too wide for a crop of the wanted aspect inside this picture
    is cut at its ends.
    """
    if not 0 < wanted_ratio <= 1:
        raise ValueError(f"The wanted foreground ratio is {wanted_ratio}; it must be above 0 and at most 1.")
    if aspect < 0 or min_side_px < 0:
        raise ValueError(f"aspect={aspect} and min_side_px={min_side_px} must not be negative.")
    subject = subject_box(mask)
    if subject is None:
        return None
    area = int(np.count_nonzero(mask))
    height, width = mask.shape
    size = (subject[2] - subject[0], subject[3] - subject[1])
    if aspect:
        crop_width, crop_height = _fixed_aspect(
            size, (width, height), area / wanted_ratio, aspect, min_side_px
        )
    else:
        crop_width, crop_height = _free_aspect(size, (width, height), area / wanted_ratio, min_side_px)
    box = _place(subject, crop_width, crop_height, width, height)
    return Crop(box, box_ratio(mask, box))


def _free_aspect(
    size: tuple[int, int], limit: tuple[int, int], pixels: float, min_side: int
) -> tuple[int, int]:
    """Width and height of at most `pixels` pixels, of the subject's shape as far as it goes."""
    grow = max((pixels / (size[0] * size[1])) ** 0.5, 1.0)
    width = min(size[0] * grow, limit[0])
    height = min(max(pixels / width, size[1]), limit[1])
    # The first axis may have been the free one while the second met its limit.
    width = min(max(pixels / height, size[0]), limit[0])
    return (
        _whole(width, max(size[0], min_side), limit[0]),
        _whole(height, max(size[1], min_side), limit[1]),
    )


def _fixed_aspect(
    size: tuple[int, int], limit: tuple[int, int], pixels: float, aspect: float, min_side: int
) -> tuple[int, int]:
    """Width and height of that aspect (to a pixel) around the subject, as far as the picture allows."""
    least = max(size[1], size[0] / aspect, min_side / min(aspect, 1.0))
    most = min(limit[1], limit[0] / aspect)
    height = min(max((pixels / aspect) ** 0.5, least), most)
    floor = min(least, most)
    whole_height = _whole(height, floor, limit[1])
    return _whole(whole_height * aspect, min(size[0], most * aspect), limit[0]), whole_height


def _whole(value: float, least: float, most: int) -> int:
    """Down to whole pixels (a hair of rounding forgiven), but not below `least` (up to whole pixels)."""
    return int(min(max(np.floor(value + 1e-9), np.ceil(least - 1e-9), 1), most))


def _place(subject: Box, crop_width: int, crop_height: int, width: int, height: int) -> Box:
    """A box of that size centred on the subject, moved to lie inside the picture."""
    x0 = (subject[0] + subject[2] - crop_width) // 2
    y0 = (subject[1] + subject[3] - crop_height) // 2
    x0 = min(max(x0, 0), width - crop_width)
    y0 = min(max(y0, 0), height - crop_height)
    return x0, y0, x0 + crop_width, y0 + crop_height


def scale_box(box: Box, from_size: tuple[int, int], to_size: tuple[int, int]) -> Box:
    """A box at `from_size` (width, height) on the same picture at `to_size`, grown to whole pixels."""
    kx, ky = to_size[0] / from_size[0], to_size[1] / from_size[1]
    # Rounding noise such as 12.000000001 must not add a pixel.
    x0, y0 = int(np.floor(box[0] * kx + 1e-6)), int(np.floor(box[1] * ky + 1e-6))
    x1, y1 = int(np.ceil(box[2] * kx - 1e-6)), int(np.ceil(box[3] * ky - 1e-6))
    return x0, y0, min(x1, to_size[0]), min(y1, to_size[1])
