"""The EXIF orientation tag: the one piece of EXIF that changes what a picture looks like."""

import struct

import cv2
import numpy as np

ORIENTATION_TAG = 0x0112
_SHORT, _LONG = 3, 4


def exif_orientation(exif: bytes) -> int:
    """Orientation 1..8 of an EXIF block, with or without its "Exif\\0\\0" prefix; 1 where it has none.

    Only the first IFD is read (EXIF 2.3, 4.6.4). A malformed block never fails a picture: metadata from
    phones and editors is often broken while the pixels are fine, so it counts as "upright".
    """
    if exif[:6] == b"Exif\0\0":
        exif = exif[6:]
    endian = {b"II": "<", b"MM": ">"}.get(exif[:2])
    if endian is None:
        return 1
    try:
        (offset,) = struct.unpack_from(endian + "I", exif, 4)
        (count,) = struct.unpack_from(endian + "H", exif, offset)
        for entry in range(offset + 2, offset + 2 + 12 * count, 12):
            tag, kind = struct.unpack_from(endian + "HH", exif, entry)
            if tag == ORIENTATION_TAG and kind in (_SHORT, _LONG):
                (value,) = struct.unpack_from(endian + ("H" if kind == _SHORT else "I"), exif, entry + 8)
                return value if 1 <= value <= 8 else 1
    except struct.error:
        return 1
    return 1


def upright(pixels: np.ndarray, orientation: int) -> np.ndarray:
    """Turn stored pixels, (H,W) or (H,W,C), the way EXIF orientation 1..8 says they are to be seen."""
    match orientation:
        case 2:
            return cv2.flip(pixels, 1)
        case 3:
            return cv2.rotate(pixels, cv2.ROTATE_180)
        case 4:
            return cv2.flip(pixels, 0)
        case 5:
            return cv2.transpose(pixels)
        case 6:
            return cv2.rotate(pixels, cv2.ROTATE_90_CLOCKWISE)
        case 7:
            return cv2.flip(cv2.transpose(pixels), -1)
        case 8:
            return cv2.rotate(pixels, cv2.ROTATE_90_COUNTERCLOCKWISE)
    return pixels
