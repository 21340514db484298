"""What the header of an image file says, in one shape for every format."""

from typing import NamedTuple

# How the stored channels are to be read; decides the decode path.
GREY, YCC, RGB, CMYK, OTHER = "grey", "ycc", "rgb", "cmyk", "other"


class Container(NamedTuple):
    """A parsed header. Sizes are as stored, in px, before the EXIF orientation is applied."""

    format: str  # "jpeg", "png", "webp", "gif", "bmp", "tiff"
    width_px: int
    height_px: int
    orientation: int = 1  # EXIF, 1..8
    frames: int = 1
    color: str = OTHER
    icc: bytes = b""
    inverted: bool = False  # CMYK JPEGs by Adobe tools store 255 - ink
    progressive: bool = False
