"""WebP: RIFF chunk walk (RFC 9649) and decoding of the first frame."""

import struct

import cv2
import numpy as np

from components.data.image_container import RGB, Container
from components.data.image_error import check_size, corrupt, truncated
from components.data.image_exif import exif_orientation


def parse_webp(data: bytes) -> Container:
    """Size, orientation, frames and profile from the chunks; no pixel is decoded. Raises ImageError."""
    if len(data) < 30:
        raise truncated("inside the WebP header")
    (riff_bytes,) = struct.unpack_from("<I", data, 4)
    if riff_bytes + 8 > len(data):
        raise truncated(f"{len(data)} of the {riff_bytes + 8} bytes of the WebP")
    size, orientation, frames, icc = (0, 0), 1, 0, b""
    at, end = 12, riff_bytes + 8
    while at + 8 <= end:
        kind, length = struct.unpack_from("<4sI", data, at)
        body = at + 8
        if kind in _SIZES and size == (0, 0):
            if body + 10 > end:
                raise truncated("inside the WebP header")
            size = _SIZES[kind](data, body)
        elif kind == b"ANMF":
            frames += 1
        elif kind == b"EXIF":
            orientation = exif_orientation(data[body : body + length])
        elif kind == b"ICCP":
            icc = data[body : body + length]
        at = body + length + (length & 1)
    if size == (0, 0):
        raise corrupt("the WebP has no picture chunk")
    check_size(*size)
    return Container("webp", *size, orientation, max(frames, 1), RGB, icc)


def _lossy_size(data: bytes, at: int) -> tuple[int, int]:
    if data[at + 3 : at + 6] != b"\x9d\x01\x2a":
        raise corrupt("the WebP's VP8 start code is wrong")
    width, height = struct.unpack_from("<HH", data, at + 6)
    return width & 0x3FFF, height & 0x3FFF


def _lossless_size(data: bytes, at: int) -> tuple[int, int]:
    if data[at] != 0x2F:
        raise corrupt("the WebP's VP8L signature is wrong")
    (bits,) = struct.unpack_from("<I", data, at + 1)
    return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1


def _extended_size(data: bytes, at: int) -> tuple[int, int]:
    return int.from_bytes(data[at + 4 : at + 7], "little") + 1, int.from_bytes(
        data[at + 7 : at + 10], "little"
    ) + 1


_SIZES = {b"VP8 ": _lossy_size, b"VP8L": _lossless_size, b"VP8X": _extended_size}


def decode_webp(data: bytes) -> np.ndarray:
    """Stored pixels of the first frame, uint8 (H,W,3) RGB or (H,W,4) RGBA. Raises ImageError."""
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None:
        raise corrupt("libwebp cannot read its pixels")
    return cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB if pixels.shape[2] == 3 else cv2.COLOR_BGRA2RGBA)
