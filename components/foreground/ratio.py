"""How much of a picture the subject covers, and where it lies."""

import numpy as np

Box = tuple[int, int, int, int]
"""x0, y0, x1, y1 in px; x1 and y1 lie one past the last pixel, so width = x1 - x0."""


def foreground_ratio(mask: np.ndarray) -> float | None:
    """Share of the pixels of a (H, W) bool mask that are set, in (0, 1]; None for an empty mask.

    "No subject found" is not "a subject of size 0": the caller stores null with a reason.
    """
    covered = int(np.count_nonzero(mask))
    return covered / mask.size if covered else None


def subject_box(mask: np.ndarray) -> Box | None:
    """The smallest box around all set pixels of a (H, W) bool mask; None for an empty mask."""
    columns = np.flatnonzero(mask.any(axis=0))
    rows = np.flatnonzero(mask.any(axis=1))
    if not len(columns):
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def box_ratio(mask: np.ndarray, box: Box) -> float:
    """Share of the pixels inside `box` that are set. Raises ValueError for an empty box."""
    x0, y0, x1, y1 = box
    if not (0 <= x0 < x1 <= mask.shape[1] and 0 <= y0 < y1 <= mask.shape[0]):
        raise ValueError(
            f"The box {box} has no pixels inside a mask of {mask.shape[1]} x {mask.shape[0]} px."
        )
    inside = mask[y0:y1, x0:x1]
    return int(np.count_nonzero(inside)) / inside.size


def border_share(mask: np.ndarray) -> float:
    """Share of the picture's outermost pixels that are set, in 0..1; a background mask has most of them."""
    height, width = mask.shape
    frame = np.ones((height, width), bool)
    frame[1:-1, 1:-1] = False
    return int(np.count_nonzero(mask & frame)) / int(np.count_nonzero(frame))
