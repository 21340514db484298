"""Sharpness of the subject alone, so that a soft background does not count as a soft dog."""

import cv2
import numpy as np

from components.foreground.ratio import subject_box

# Below this a variance says more about chance than about focus.
MIN_PIXELS = 64
# The mask's edge is a few pixels off and the silhouette itself is an edge, so a rim is left out.
RIM_SHARE = 0.02


def subject_sharpness(image: np.ndarray, mask: np.ndarray) -> float | None:
    """Variance of the Laplacian over the subject's inside; None when too little of it is left.

    image: (H, W, 3) uint8 sRGB or (H, W) uint8 grey; mask: (H, W) bool of the same size. Grey by ITU-R 601
    weights, 4-neighbour kernel (ksize 1), int16: the same score as `laplacian_variance` for a full mask but
    for the rim. The mask is eroded by 2 % of the root of its area (at least 1 px, so that the kernel never
    reaches outside it).
    """
    if image.shape[:2] != mask.shape:
        raise ValueError(f"The picture is {image.shape[:2]} and its mask {mask.shape}; they must be equal.")
    box = subject_box(mask)
    if box is None:
        return None
    x0, y0, x1, y1 = box
    inside = np.ascontiguousarray(mask[y0:y1, x0:x1]).astype(np.uint8)
    part = image[y0:y1, x0:x1]
    grey = cv2.cvtColor(part, cv2.COLOR_RGB2GRAY) if image.ndim == 3 else np.ascontiguousarray(part)
    eroded = erode(inside, max(1, round(RIM_SHARE * float(inside.sum()) ** 0.5)))
    if int(eroded.sum()) < MIN_PIXELS:
        return None
    _, deviation = cv2.meanStdDev(cv2.Laplacian(grey, cv2.CV_16S, ksize=1), mask=eroded)
    return float(deviation[0, 0]) ** 2


def erode(mask: np.ndarray, radius_px: int) -> np.ndarray:
    """(H, W) uint8 0/1 without the pixels within `radius_px` of an unset one or of the array's end."""
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius_px + 1, 2 * radius_px + 1))
    return cv2.erode(mask, kernel, borderType=cv2.BORDER_CONSTANT, borderValue=(0,))
