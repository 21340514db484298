"""Whether the background is plain: measured, so that a prompt may say so."""

from dataclasses import dataclass

import cv2
import numpy as np

# Measured at this long side, so that a score does not depend on the camera's resolution.
LONG_SIDE_PX = 256
# The rim around the subject holds its soft edge and its shadow.
RIM_SHARE = 0.05
# Below this share of the picture there is no background to speak of.
MIN_SHARE = 0.05

# CIELAB units. A studio sheet falls off smoothly in lightness, so its spread may be large, but its local
# slope is small and its colour does not wander.
MAX_LIGHTNESS_STD = 14.0
MAX_COLOR_STD = 4.0
MAX_SLOPE = 1.5
MAX_CHROMA = 10.0


@dataclass(frozen=True)
class Background:
    """Statistics of the pixels outside the subject, in CIELAB (lightness 0..100).

    share: of the picture that was measured. lightness_std, color_std: standard deviations of L*, and of a*
    and b* together. slope: mean gradient of L* per px at a long side of 256 px. chroma: the mean colour's
    distance from grey.
    """

    share: float
    lightness_std: float
    color_std: float
    slope: float
    chroma: float

    @property
    def even(self) -> bool:
        """One surface without texture, whatever its colour."""
        return (
            self.lightness_std <= MAX_LIGHTNESS_STD
            and self.color_std <= MAX_COLOR_STD
            and self.slope <= MAX_SLOPE
        )

    @property
    def plain(self) -> bool:
        """Even and near grey: white, grey or black. This is the column `background_plain`."""
        return self.even and self.chroma <= MAX_CHROMA


def measure_background(image: np.ndarray, mask: np.ndarray) -> Background | None:
    """Statistics of (H, W, 3) uint8 sRGB outside a (H, W) bool mask; None when that is under 5 %."""
    if image.shape[:2] != mask.shape:
        raise ValueError(f"The picture is {image.shape[:2]} and its mask {mask.shape}; they must be equal.")
    scale = min(1.0, LONG_SIDE_PX / max(mask.shape))
    size = (max(1, round(mask.shape[1] * scale)), max(1, round(mask.shape[0] * scale)))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    # Any touch of the subject makes a reduced pixel the subject's.
    subject = cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA) > 0
    outside = ~_dilate(subject, max(2, round(RIM_SHARE * float(subject.sum()) ** 0.5)))
    share = float(outside.mean())
    if share < MIN_SHARE:
        return None
    lab = cv2.cvtColor(small.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
    lightness, colors = lab[..., 0], lab[..., 1:][outside]
    # Only pixels whose 3 x 3 neighbourhood is all background have a slope of the background.
    inner = ~_dilate(~outside, 1)
    across = cv2.Sobel(lightness, cv2.CV_32F, 1, 0, ksize=3)[inner] / 8
    down = cv2.Sobel(lightness, cv2.CV_32F, 0, 1, ksize=3)[inner] / 8
    return Background(
        share=share,
        lightness_std=float(lightness[outside].std()),
        color_std=float(np.sqrt(colors.var(axis=0).sum())),
        slope=float(np.hypot(across, down).mean()) if across.size else float("inf"),
        chroma=float(np.hypot(*colors.mean(axis=0))),
    )


def background_plain(image: np.ndarray, mask: np.ndarray) -> bool | None:
    """Whether the background is one near-grey surface; None when there is too little of it to say."""
    measured = measure_background(image, mask)
    return None if measured is None else measured.plain


def _dilate(mask: np.ndarray, radius_px: int) -> np.ndarray:
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius_px + 1, 2 * radius_px + 1))
    return cv2.dilate(mask.astype(np.uint8), kernel) > 0
