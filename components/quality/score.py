"""All quality scores of one picture, with as few decodes as its format allows."""

from importlib.metadata import version

import numpy as np

from components.data.images import decode_grey_and_reduced
from components.quality.blur import laplacian_variance, laplacian_variance_fixed
from components.quality.color import color_shift, grey_screen
from components.quality.phash import phash

FIXED_SIDE_PX = 512
REDUCED_SIDE_PX = 128


def score_image(
    data: bytes,
    *,
    fixed_side_px: int = FIXED_SIDE_PX,
    reduced_side_px: int = REDUCED_SIDE_PX,
    reference: np.ndarray | None = None,
) -> dict[str, float | int]:
    """The columns laplacian_variance, laplacian_variance_fixed, color_shift and phash of one image file.

    Raises ImageError when the file has no right picture: then the row, and only it, has an error. Set
    `cv2.setNumThreads(1)` where several threads score at once.
    """
    grey, reduced = decode_grey_and_reduced(data, reduced_side_px)
    return {
        "laplacian_variance": laplacian_variance(grey),
        "laplacian_variance_fixed": laplacian_variance_fixed(grey, fixed_side_px),
        "color_shift": color_shift(reduced, reference),
        "phash": phash(reduced),
    }


def score_policy(
    *,
    fixed_side_px: int = FIXED_SIDE_PX,
    reduced_side_px: int = REDUCED_SIDE_PX,
    reference: np.ndarray | None = None,
) -> dict[str, str]:
    """What the scores mean: two scores may be compared only when these are equal, word by word."""
    shares = grey_screen() if reference is None else reference
    return {
        "decoder": " ".join(
            f"{name} {version(name)}" for name in ("simplejpeg", "opencv-python-headless", "pillow")
        ),
        "grey": "stored Y of YCbCr and grey JPEGs, else Y of sRGB over matte 128; native size, 8 bits",
        "laplacian_variance": "[0 1 0; 1 -4 1; 0 1 0], int16, mirrored border, population variance",
        "laplacian_variance_fixed": "the same after 2 x 2 means while 3 times too large, then "
        f"INTER_AREA, to a long side of {fixed_side_px} px",
        "reduced": f"sRGB, shortest side >= {reduced_side_px} px by DCT scaling and k x k means",
        "color_shift": "Hellinger, a*b* in 15 x 15 bins of 16; reference "
        + ",".join(f"{i}:{share:.6g}" for i, share in enumerate(shares.ravel()) if share),
        "phash": "DCT 8x8 of 32x32 luma, frequencies 1..8, above the median",
    }
