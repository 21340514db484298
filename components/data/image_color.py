"""Stored channels -> 8-bit sRGB: bit depth, alpha, CMYK and embedded ICC profiles."""

import io
from functools import lru_cache

import cv2
import numpy as np
from PIL import Image, ImageCms

from components.data.image_container import CMYK, Container

# Transparent pixels show mid grey: neutral for the colour score, and no false edge against most subjects.
MATTE = 128
# A profile that moves no colour by more than this many levels is sRGB for our purpose.
_SAME_LEVELS = 2
_MODES = {b"RGB ": "RGB", b"GRAY": "L", b"CMYK": "CMYK"}


def to_srgb(pixels: np.ndarray, container: Container) -> np.ndarray:
    """(H,W), (H,W,3), (H,W,4) of uint8 or uint16 -> (H,W,3) uint8 sRGB.

    Four channels are ink where the container says CMYK, else RGB with straight alpha, which is composited on
    MATTE. A profile that is broken or made for other channels is ignored, as browsers do.
    """
    pixels = eight_bits(pixels)
    alpha = None
    if pixels.ndim == 3 and pixels.shape[2] == 4 and container.color != CMYK:
        pixels, alpha = np.ascontiguousarray(pixels[:, :, :3]), pixels[:, :, 3]
    rgb = _profiled(pixels, container)
    return rgb if alpha is None else on_matte(rgb, alpha)


def eight_bits(pixels: np.ndarray) -> np.ndarray:
    """uint16 0..65535 -> uint8 0..255, scaled (65535 = 255 * 257) and rounded; uint8 passes unchanged."""
    if pixels.dtype == np.uint8:
        return pixels
    return cv2.convertScaleAbs(pixels, alpha=1 / 257)


def on_matte(rgb: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """(H,W,3) uint8 with straight alpha (H,W) uint8 over MATTE: round((a*rgb + (255-a)*128) / 255)."""
    if alpha.min() == 255:
        return rgb
    weight = alpha[:, :, None].astype(np.uint16)
    # Fits 16 bits: a mix of two 8-bit levels is at most 255 * 255, plus 127 for rounding.
    mixed = rgb * weight + (255 - weight) * np.uint16(MATTE) + np.uint16(127)
    return (mixed // 255).astype(np.uint8)


def _profiled(pixels: np.ndarray, container: Container) -> np.ndarray:
    """(H,W) grey, (H,W,3) RGB or (H,W,4) CMYK, uint8 -> (H,W,3) sRGB through the profile, if it has one."""
    mode = "L" if pixels.ndim == 2 else "RGB" if pixels.shape[2] == 3 else "CMYK"
    transform = _transform(container.icc, mode) if container.icc else None
    if transform is None:
        if mode == "L":
            return cv2.cvtColor(pixels, cv2.COLOR_GRAY2RGB)
        return np.asarray(Image.fromarray(pixels, "CMYK").convert("RGB")) if mode == "CMYK" else pixels
    # A grey profile on pixels that were stored as RGB (or the reverse) never gets here: the modes differ.
    image = Image.fromarray(pixels, mode) if mode == "CMYK" else Image.fromarray(pixels)
    return np.asarray(ImageCms.applyTransform(image, transform))


@lru_cache(maxsize=64)
def _transform(icc: bytes, mode: str) -> "ImageCms.ImageCmsTransform | None":
    """Transform to sRGB with perceptual intent; None when the profile is unusable, or is sRGB already."""
    if _MODES.get(icc[16:20]) != mode:
        return None
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(icc))
        transform = ImageCms.buildTransform(source, ImageCms.createProfile("sRGB"), mode, "RGB")
        if mode == "CMYK":
            return transform
        probe = _probe(mode)
        moved = np.asarray(ImageCms.applyTransform(probe, transform)).astype(int)
    except (OSError, ValueError, ImageCms.PyCMSError):
        return None
    same = np.abs(moved - np.asarray(probe.convert("RGB"))).max() <= _SAME_LEVELS
    return None if same else transform


def _probe(mode: str) -> Image.Image:
    """All 256 greys, or a 17 x 17 x 17 lattice of RGB colours."""
    if mode == "L":
        return Image.fromarray(np.arange(256, dtype=np.uint8)[None])
    levels = np.linspace(0, 255, 17).round().astype(np.uint8)
    return Image.fromarray(np.stack(np.meshgrid(levels, levels, levels), -1).reshape(17, 289, 3))
