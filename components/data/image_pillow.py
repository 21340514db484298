"""GIF, BMP and TIFF through Pillow: rare in photo sets, so exactness matters here and speed does not."""

import io
import struct

import numpy as np
from PIL import Image

from components.data.image_container import CMYK, GREY, OTHER, RGB, Container
from components.data.image_error import ImageError, check_size, corrupt, truncated

_GIF_EXTENSION, _GIF_IMAGE, _GIF_END = 0x21, 0x2C, 0x3B


def parse_gif(data: bytes) -> Container:
    """Canvas size and frame count by walking the blocks (GIF89a); no pixel is decoded. Raises ImageError.

    A first frame that reaches beyond the canvas enlarges it, as in Pillow and browsers.
    """
    if len(data) < 13:
        raise truncated("inside the GIF header")
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    at = 13 + (3 << (flags & 7) + 1 if flags & 0x80 else 0)
    frames = 0
    while at < len(data) and data[at] != _GIF_END:
        if data[at] == _GIF_IMAGE and at + 10 <= len(data):
            x, y, w, h, local = struct.unpack_from("<HHHHB", data, at + 1)
            if frames == 0:
                width, height = max(width, x + w), max(height, y + h)
                check_size(width, height)
            frames += 1
            at += 11 + (3 << (local & 7) + 1 if local & 0x80 else 0)
        elif data[at] == _GIF_EXTENSION:
            at += 2
        else:
            break  # junk after the last block: Pillow stops there too
        while at < len(data) and data[at]:
            at += 1 + data[at]
        at += 1
    if frames == 0:
        raise truncated("the GIF has no picture")
    return Container("gif", width, height, frames=frames)


def parse_with_pillow(data: bytes, name: str) -> Container:
    """Header of a BMP or TIFF. Raises ImageError."""
    try:
        with Image.open(io.BytesIO(data), formats=(name.upper(),)) as image:
            # Pillow turns TIFFs upright by itself and reports the turned size, so no orientation is left.
            width, height = image.size
            frames = int(getattr(image, "n_frames", 1))
            icc = image.info.get("icc_profile") or b""
            color = {"L": GREY, "RGB": RGB, "RGBA": RGB, "CMYK": CMYK}.get(image.mode, OTHER)
    except Exception as error:
        raise _named(error) from None
    check_size(width, height)
    return Container(name, width, height, 1, frames, color, icc)


def decode_with_pillow(data: bytes, name: str) -> np.ndarray:
    """Pixels of the first frame: (H,W) uint8/uint16, (H,W,3) RGB, (H,W,4) RGBA uint8. Raises ImageError.

    CMYK comes back as ink, (H,W,4); the container's colour says which of the two a fourth channel is.
    """
    try:
        with Image.open(io.BytesIO(data), formats=(name.upper(),)) as image:
            image.load()
            return _pixels(image)
    except ImageError:
        raise
    except Exception as error:
        raise _named(error) from None


def _pixels(image: Image.Image) -> np.ndarray:
    mode = image.mode
    if mode.startswith("I;16"):
        return np.asarray(image).astype(np.uint16)  # astype: native byte order, which OpenCV needs
    if mode in ("L", "RGB", "RGBA", "CMYK") and "transparency" not in image.info:
        return np.asarray(image)
    if mode in ("LA", "PA", "La", "RGBa") or "transparency" in image.info:
        return np.asarray(image.convert("RGBA"))
    if mode in ("1", "P", "RGBX", "YCbCr"):
        return np.asarray(image.convert("RGB"))
    raise ImageError(
        "unsupported",
        f"Pixels of kind {mode} have no defined brightness range: save the picture as 8-bit RGB.",
    )


def _named(error: Exception) -> ImageError:
    if isinstance(error, ImageError):
        return error
    if isinstance(error, Image.DecompressionBombError):
        return ImageError("too_large", f"{str(error).rstrip('.')}: shrink the picture before ingest.")
    if "truncated" in str(error).lower() or isinstance(error, EOFError):
        return truncated(str(error) or "no more data")
    return corrupt(str(error) or type(error).__name__)
