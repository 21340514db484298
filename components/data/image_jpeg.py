"""JPEG: marker walk (ITU-T T.81, annex B) and strict decoding with libjpeg-turbo."""

import io
from typing import cast

import numpy as np
import simplejpeg
from PIL import Image

from components.data.image_container import CMYK, GREY, RGB, YCC, Container
from components.data.image_error import ImageError, check_size, corrupt, truncated
from components.data.image_exif import exif_orientation

# Start-of-frame markers: C0..CF without DHT (C4), JPG (C8) and DAC (CC).
_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_NO_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})
_PROGRESSIVE = frozenset({0xC2, 0xC6, 0xCA, 0xCE})
_SOS, _APP1, _APP2, _APP14, _EOI = 0xDA, 0xE1, 0xE2, 0xEE, 0xD9
_FIRST_RGB_IDS = (0x52, 0x47, 0x42)  # component ids "RGB" mark untransformed channels

# Real encoders write about 10 scans; each costs a pass over all pixels, so thousands of them are an attack.
MAX_SCANS = 500


def parse_jpeg(data: bytes) -> Container:
    """Walk the markers up to the first scan. No pixel is touched. Raises ImageError."""
    size = len(data)
    at = 2
    frame = -1
    progressive = jfif = False
    adobe = -1
    orientation = 0
    icc: list[tuple[int, bytes]] = []
    while True:
        if at + 4 > size:
            raise truncated("inside the JPEG header")
        if data[at] != 0xFF:
            raise corrupt(f"no JPEG marker at byte {at}")
        marker = data[at + 1]
        if marker == 0xFF:  # fill byte
            at += 1
            continue
        if marker in _NO_LENGTH:
            at += 2
            continue
        if marker == _SOS:
            break
        if marker == _EOI:
            raise corrupt("the JPEG has no scan")
        length = data[at + 2] << 8 | data[at + 3]
        body, at = at + 4, at + 2 + length
        if length < 2:
            raise corrupt(f"a JPEG segment of {length} bytes")
        if marker == 0xE0:
            jfif = jfif or data[body : body + 5] == b"JFIF\0"
        elif marker == _APP1:
            if not orientation and data[body : body + 6] == b"Exif\0\0":
                orientation = exif_orientation(data[body:at])
        elif marker == _APP2:
            if data[body : body + 12] == b"ICC_PROFILE\0" and length >= 16:
                icc.append((data[body + 12], data[body + 14 : at]))
        elif marker == _APP14:
            if data[body : body + 5] == b"Adobe" and length >= 14:
                adobe = data[body + 11]
        elif marker in _SOF:
            if frame >= 0:
                raise corrupt("two JPEG frame headers")
            frame, progressive = body, marker in _PROGRESSIVE
    if frame < 0 or frame + 6 > size:
        raise corrupt("a scan before any JPEG frame header")
    color = _channels(data, frame, jfif, adobe)
    height, width = data[frame + 1] << 8 | data[frame + 2], data[frame + 3] << 8 | data[frame + 4]
    profile = b"".join(part for _, part in sorted(icc)) if icc else b""
    check_size(width, height)
    return Container("jpeg", width, height, orientation or 1, 1, color, profile, adobe >= 0, progressive)


def _channels(data: bytes, frame: int, jfif: bool, adobe: int) -> str:
    """Colour model by libjpeg's own rules: JFIF, else Adobe's transform flag, else the component ids."""
    if data[frame] != 8:
        raise ImageError(
            "unsupported", f"The JPEG has {data[frame]} bits a channel; only 8 are read: save it with 8 bits."
        )
    count = data[frame + 5]
    if count == 1:
        return GREY
    if count == 4:
        return CMYK
    if count != 3:
        raise ImageError(
            "unsupported", f"The JPEG has {count} channels; 1, 3 and 4 are read: save it as RGB."
        )
    if jfif:
        return YCC
    if adobe >= 0:
        return RGB if adobe == 0 else YCC
    ids = tuple(data[frame + 6 + 3 * i : frame + 7 + 3 * i] for i in range(3))
    return RGB if ids == tuple(bytes([i]) for i in _FIRST_RGB_IDS) else YCC


def decode_jpeg(data: bytes, container: Container, colorspace: str, min_side_px: int = 0) -> np.ndarray:
    """Stored pixels, (H,W) for "GRAY", (H,W,3) "RGB" or (H,W,4) "CMYK" (ink, 0 = none), uint8; strict.

    With `min_side_px`, DCT scaling gives the smallest picture whose shortest side still reaches it.
    Strict: every warning of libjpeg is an error, so half a file or rotten bytes never pass as a picture.
    """
    if container.progressive and data.count(b"\xff\xda") > MAX_SCANS:
        raise ImageError("too_large", f"The JPEG has over {MAX_SCANS} scans: save it again as a plain JPEG.")
    try:
        pixels = simplejpeg.decode_jpeg(data, colorspace, min_height=min_side_px, min_width=min_side_px)
    except ValueError as error:
        pixels = _unusual_sampling(data, colorspace, str(error))
    if colorspace == "GRAY":
        return pixels[:, :, 0]
    if colorspace == "CMYK" and container.inverted:
        return cast(np.ndarray, np.subtract(255, pixels, dtype=np.uint8))
    return pixels


def _unusual_sampling(data: bytes, colorspace: str, message: str) -> np.ndarray:
    """TurboJPEG refuses legal but rare sampling factors (4:1:0, ...): Pillow's plain libjpeg reads them."""
    if "Premature end" in message:
        raise truncated("in the middle of the JPEG's pixels") from None
    if "subsampling" not in message or colorspace == "CMYK":
        raise corrupt(message.removeprefix("tjDecompressHeader3(): ")) from None
    try:
        with Image.open(io.BytesIO(data), formats=("JPEG",)) as image:
            pixels = np.asarray(image.convert("L" if colorspace == "GRAY" else "RGB"))
    except Image.DecompressionBombError as error:
        raise ImageError("too_large", f"{error}: shrink it before ingest.") from None
    except Exception as error:
        raise (truncated if "truncated" in str(error) else corrupt)(str(error)) from None
    return pixels[:, :, None] if colorspace == "GRAY" else pixels
