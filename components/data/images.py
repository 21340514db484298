"""Image bytes -> pixels: upright, sRGB, 8 bits, or an ImageError that names what is wrong.

Every function first parses the header and checks its limits, and is strict: what one refuses for its pixels,
the others refuse too. JPEG (simplejpeg), PNG and WebP (OpenCV) decode without holding the GIL.
"""

import cv2
import numpy as np

from components.data.image_color import to_srgb
from components.data.image_container import CMYK, GREY, RGB, YCC, Container
from components.data.image_error import MAX_PIXELS, ImageError, corrupt
from components.data.image_exif import upright
from components.data.image_header import ImageHeader, parse, read_header
from components.data.image_jpeg import decode_jpeg
from components.data.image_pillow import decode_with_pillow
from components.data.image_png import decode_png
from components.data.image_webp import decode_webp

__all__ = [
    "MAX_PIXELS",
    "ImageError",
    "ImageHeader",
    "decode",
    "decode_grey",
    "decode_reduced",
    "read_header",
]


def decode(data: bytes) -> np.ndarray:
    """(H,W,3) uint8 sRGB, turned upright by EXIF; the first frame of an animation.

    Alpha is composited on mid grey (128), 16 bits are scaled to 8, CMYK and ICC profiles become sRGB.
    Raises ImageError.
    """
    container = parse(data)
    return upright(to_srgb(_stored(data, container), container), container.orientation)


def decode_grey(data: bytes) -> np.ndarray:
    """(H,W) uint8 luma, Y = .299 R + .587 G + .114 B, at native size and as stored (not turned upright).

    Of YCbCr and grey JPEGs it is the stored Y channel, without a colour decode, so an ICC profile does not
    touch it; of all others the luma of `decode`. Raises ImageError.
    """
    container = parse(data)
    if container.format == "jpeg" and container.color in (YCC, GREY):
        return decode_jpeg(data, container, "GRAY")
    return cv2.cvtColor(to_srgb(_stored(data, container), container), cv2.COLOR_RGB2GRAY)


def decode_reduced(data: bytes, min_side_px: int) -> np.ndarray:
    """(h,w,3) uint8 sRGB, upright, smaller by a cheap factor; the shortest side stays >= min_side_px.

    A picture whose shortest side is below min_side_px keeps its size. JPEGs are first scaled in
    the DCT (n/8); what is still k times too large is averaged over k x k pixels. Raises ImageError.
    """
    if min_side_px < 1:
        raise ValueError(f"min_side_px is {min_side_px}; it must be 1 or more.")
    container = parse(data)
    return _shrunk(to_srgb(_stored(data, container, min_side_px), container), container, min_side_px)


def decode_grey_and_reduced(data: bytes, min_side_px: int) -> tuple[np.ndarray, np.ndarray]:
    """What `decode_grey` and `decode_reduced` give, from one decode where a small one is no cheaper."""
    if min_side_px < 1:
        raise ValueError(f"min_side_px is {min_side_px}; it must be 1 or more.")
    if data[:2] == b"\xff\xd8":
        return decode_grey(data), decode_reduced(data, min_side_px)
    container = parse(data)
    rgb = to_srgb(_stored(data, container), container)
    return cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), _shrunk(rgb, container, min_side_px)


def _shrunk(rgb: np.ndarray, container: Container, min_side_px: int) -> np.ndarray:
    factor = min(rgb.shape[:2]) // min_side_px
    if factor > 1:
        size = (rgb.shape[1] // factor, rgb.shape[0] // factor)
        rgb = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA)
    return upright(rgb, container.orientation)


def _stored(data: bytes, container: Container, min_side_px: int = 0) -> np.ndarray:
    """Pixels as the file stores them, in the channels that `to_srgb` reads."""
    if container.format == "jpeg":
        colorspace = {GREY: "GRAY", CMYK: "CMYK", YCC: "RGB", RGB: "RGB"}[container.color]
        pixels = decode_jpeg(data, container, colorspace, min_side_px)
    elif container.format == "png":
        pixels = decode_png(data)
    elif container.format == "webp":
        pixels = decode_webp(data)
    else:
        pixels = decode_with_pillow(data, container.format)
    if container.format != "jpeg" and pixels.shape[:2] != (container.height_px, container.width_px):
        height, width = pixels.shape[:2]
        raise corrupt(
            f"its header says {container.width_px} x {container.height_px} px, it has {width} x {height}"
        )
    return pixels
