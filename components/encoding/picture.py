"""From an original photo to the square picture that training sees."""

from collections.abc import Sequence

import numpy as np
from PIL import Image

from components.data.images import decode


def training_picture(data: bytes, size_px: int, crop_box: Sequence[int] | None = None) -> np.ndarray:
    """(size, size, 3) uint8 sRGB: crop to `crop_box` (x0, y0, x1, y1 px) if given, then the centred square.

    Shrinks with Lanczos, which keeps fur texture that area averaging would soften. Raises ImageError.
    """
    picture = decode(data)
    if crop_box is not None:
        x0, y0, x1, y1 = crop_box
        picture = picture[y0:y1, x0:x1]
    height, width = picture.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    square = Image.fromarray(np.ascontiguousarray(picture[top : top + side, left : left + side]))
    return np.asarray(square.resize((size_px, size_px), Image.Resampling.LANCZOS))
