"""PNG: chunk walk with checksums (W3C PNG, third edition), and decoding from the pixel chunks only."""

import struct
import zlib
from typing import NamedTuple

import cv2
import numpy as np

from components.data.image_container import GREY, OTHER, RGB, Container
from components.data.image_error import ImageError, check_size, corrupt, truncated
from components.data.image_exif import exif_orientation

SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Chunks that decide the pixels. The rest (text, ICC, animation) never reaches libpng: a 6 KB text chunk can
# inflate to megabytes, and unknown chunks only make it print warnings.
_PIXEL_CHUNKS = frozenset({b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"})
_MAX_PROFILE_BYTES = 8 << 20
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


class _Chunk(NamedTuple):
    kind: bytes
    start: int  # of the payload, in bytes
    length: int


def _chunks(data: bytes) -> list[_Chunk]:
    """The chunks up to IEND; the last one may reach beyond the end of the data."""
    found = []
    at, size = len(SIGNATURE), len(data)
    while at + 8 <= size:
        length, kind = struct.unpack_from(">I4s", data, at)
        found.append(_Chunk(kind, at + 8, length))
        if kind == b"IEND":
            break
        at += 12 + length
    return found


def parse_png(data: bytes) -> Container:
    """Size, orientation (eXIf), frames (acTL) and profile (iCCP); no pixel is decoded. Raises ImageError."""
    chunks = _chunks(data)
    if not chunks or chunks[0].start + 13 > len(data):
        raise truncated("inside the PNG header")
    if chunks[0].kind != b"IHDR" or chunks[0].length != 13:
        raise corrupt("the PNG does not begin with IHDR")
    width, height, _, color_type = struct.unpack_from(">IIBB", data, chunks[0].start)
    check_size(width, height)
    orientation, frames, icc = 1, 1, b""
    for kind, start, length in chunks:
        if kind == b"eXIf":
            orientation = exif_orientation(data[start : start + length])
        elif kind == b"acTL" and length >= 8 and start + 8 <= len(data):
            frames = max(1, struct.unpack_from(">I", data, start)[0])
        elif kind == b"iCCP":
            icc = _profile(data[start : start + length])
    color = {0: GREY, 2: RGB, 6: RGB}.get(color_type, OTHER)
    return Container("png", width, height, orientation, frames, color, icc)


def _profile(payload: bytes) -> bytes:
    """Inflate an iCCP payload (name, 0, method, zlib) to at most 8 MiB; a broken one counts as absent."""
    end = payload.find(b"\0")
    if not 0 <= end < 80:
        return b""
    try:
        inflate = zlib.decompressobj()
        profile = inflate.decompress(payload[end + 2 :], _MAX_PROFILE_BYTES)
        return profile if inflate.eof else b""
    except zlib.error:
        return b""


def pixel_chunks(data: bytes) -> bytes:
    """The PNG reduced to the chunks that decide its pixels, each checked against its CRC."""
    parts = [SIGNATURE]
    for kind, start, length in _chunks(data):
        if start + length + 4 > len(data):
            raise truncated(f"inside a PNG {kind.decode('latin-1')} chunk")
        if kind not in _PIXEL_CHUNKS:
            if kind[:1].isupper():
                raise ImageError(
                    "unsupported",
                    f"The PNG needs the unknown chunk {kind.decode('latin-1')!r}: save it as a standard PNG.",
                )
            continue
        end = start + length
        if zlib.crc32(data[start - 4 : end]) != int.from_bytes(data[end : end + 4], "big"):
            raise corrupt(f"the checksum of a PNG {kind.decode('latin-1')} chunk is wrong")
        parts.append(data[start - 8 : end + 4])
        if kind == b"IEND":
            return b"".join(parts)
    raise truncated("the PNG has no end chunk")


def decode_png(data: bytes) -> np.ndarray:
    """Stored pixels, uint8 or uint16: (H,W) grey, (H,W,3) RGB or (H,W,4) RGBA. Raises ImageError."""
    plain = pixel_chunks(data)
    _check_pixel_bytes(plain)
    pixels = cv2.imdecode(np.frombuffer(plain, np.uint8), cv2.IMREAD_UNCHANGED)
    if pixels is None:
        raise corrupt("libpng cannot read its pixels")
    if pixels.ndim == 3:
        pixels = cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB if pixels.shape[2] == 3 else cv2.COLOR_BGRA2RGBA)
    return pixels


def _check_pixel_bytes(plain: bytes) -> None:
    """libpng hands out half a picture when the pixel stream is short, so count its bytes first."""
    width, height, depth, color_type, *_, interlace = struct.unpack_from(">IIBBBBB", plain, 16)
    if color_type not in _CHANNELS:
        raise corrupt(f"PNG colour type {color_type}")
    bits = depth * _CHANNELS[color_type]
    wanted = sum(
        rows * (1 + (columns * bits + 7) // 8) for columns, rows in _passes(width, height, interlace)
    )
    have, inflate = 0, zlib.decompressobj()
    for kind, start, length in _chunks(plain):
        pending = plain[start : start + length] if kind == b"IDAT" else b""
        while pending and have < wanted and not inflate.eof:
            try:
                have += len(inflate.decompress(pending, 1 << 20))
            except zlib.error as error:
                raise corrupt(f"the PNG's pixel stream: {error}") from None
            pending = inflate.unconsumed_tail
    if have < wanted:
        raise truncated("the PNG's pixel stream is short")


def _passes(width: int, height: int, interlace: int) -> list[tuple[int, int]]:
    """(columns, rows) of each Adam7 pass that is not empty; one pass when the picture is not interlaced."""
    if not interlace:
        return [(width, height)]
    grid = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    sizes = [((width - x + dx - 1) // dx, (height - y + dy - 1) // dy) for x, y, dx, dy in grid]
    return [(columns, rows) for columns, rows in sizes if columns > 0 and rows > 0]
