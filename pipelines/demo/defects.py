"""Defects planted in known strength, on both sides of every threshold of the profile `demo`.

A level is (severity, beyond): `beyond` says whether selection must reject it. Levels keep clear of the
thresholds, so a right implementation finds all of them and nothing else; where a rule counts whole units
(words, pixels) the levels go right up to its edge. Reasons are selection's own names.
"""

from dataclasses import dataclass

import cv2
import numpy as np

Level = tuple[float, bool]

# gaussian sigma in pixels, at the picture's own size
BLUR: tuple[Level, ...] = ((0.35, False), (0.5, False), (0.6, False), (1.2, True), (1.6, True), (2.4, True))
# side in pixels; the profile asks for 128
SIDE: tuple[Level, ...] = (
    (88, True),
    (104, True),
    (120, True),
    (127, True),
    (128, False),
    (129, False),
    (140, False),
)
# distance in CIELAB's a*b* plane that every pixel is moved, towards an angle within CAST_ANGLES (radians):
# magenta over orange and yellow to green, never the complement of fur or grass, which would make them neutral
CAST_ANGLES = (-0.5, 2.6)
CAST: tuple[Level, ...] = ((2.0, False), (3.0, False), (36.0, True), (44.0, True), (52.0, True))
# mask area / picture area
FOREGROUND: tuple[Level, ...] = ((0.05, True), (0.075, True), (0.1, True), (0.25, False), (0.27, False))
# wrong statements in the caption; 0 is the truth in other words
MISMATCH: tuple[Level, ...] = ((0, False), (5, True), (6, True))
WORDS_MIN: tuple[Level, ...] = ((3, True), (5, True), (7, True), (8, False), (9, False))
WORDS_MAX: tuple[Level, ...] = ((34, False), (35, False), (36, True), (40, True), (48, True))

VAGUE: tuple[tuple[str, bool], ...] = (
    ("maybe {}", True),
    ("possibly {}", True),
    ("{} and it looks like a nice dog", True),
    ("{}, the mayor's dog", False),
    ("{}, looking ahead and liked by all", False),
)


@dataclass(frozen=True)
class Planted:
    """One planted defect. `kind` tells variants of a reason apart; `of` is the original of a duplicate."""

    reason: str
    severity: float
    beyond: bool
    kind: str = ""
    of: str = ""

    def record(self) -> dict:
        """The JSON object of truth.jsonl; empty fields are left out."""
        out = {"reason": self.reason, "severity": self.severity, "beyond": self.beyond}
        return out | {name: value for name, value in (("kind", self.kind), ("of", self.of)) if value}


def blur(image: np.ndarray, sigma_px: float) -> np.ndarray:
    """Gaussian blur of an image (H,W,3) uint8."""
    return cv2.GaussianBlur(image, (0, 0), sigma_px)


def cast(image: np.ndarray, distance: float, angle: float) -> np.ndarray:
    """Moves every pixel by `distance` in CIELAB's a*b* plane, towards `angle` radians; (H,W,3) uint8 sRGB."""
    lab = cv2.cvtColor(image.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
    squeeze = 0.24 * min(distance / 30, 1.0)  # room in the sRGB gamut at both ends of a strong cast
    lab[..., 0] = 50 * squeeze + lab[..., 0] * (1 - squeeze)
    lab = lab + np.array([0, distance * np.cos(angle), distance * np.sin(angle)], np.float32)
    return np.clip(np.round(cv2.cvtColor(lab, cv2.COLOR_LAB2RGB) * 255), 0, 255).astype(np.uint8)


def jpeg(image: np.ndarray, quality: int = 92, progressive: bool = False) -> bytes:
    """The image (H,W,3) uint8 as JPEG."""
    options = [cv2.IMWRITE_JPEG_QUALITY, quality, cv2.IMWRITE_JPEG_PROGRESSIVE, int(progressive)]
    return cv2.imencode(".jpg", image[..., ::-1], options)[1].tobytes()


def png(image: np.ndarray) -> bytes:
    """The image (H,W) or (H,W,3 or 4), uint8 or uint16, as PNG."""
    if image.ndim == 3:
        image = image[..., [2, 1, 0, 3][: image.shape[2]]]
    return cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, 2])[1].tobytes()


# --- Near duplicates: (image, mask) -> (image, mask, encoded bytes) ---

NEAR: tuple[str, ...] = ("reencode", "resize", "crop", "brightness")


def near_duplicate(image: np.ndarray, mask: np.ndarray, kind: str) -> tuple[np.ndarray, bytes]:
    """The mask and the JPEG of the same photo after what re-posting does to it; `kind` is one of NEAR."""
    n = image.shape[0]
    if kind == "resize":
        m = int(n * 0.92)
        image = cv2.resize(image, (m, m), interpolation=cv2.INTER_AREA)
        mask = cv2.resize(mask.astype(np.uint8), (m, m), interpolation=cv2.INTER_NEAREST).astype(bool)
    elif kind == "crop":
        cut = max(n // 160, 1)
        image, mask = image[cut:-cut, cut:-cut], mask[cut:-cut, cut:-cut]
    elif kind == "brightness":
        image = np.clip(image.astype(np.int16) + 10, 0, 255).astype(np.uint8)
    return mask, jpeg(image, 74 if kind == "reencode" else 88)


# --- Files that cannot be decoded, and odd ones that can ---

BROKEN: tuple[str, ...] = ("truncated", "bit_rot", "empty", "html", "truncated_png")
ODD: tuple[str, ...] = ("progressive", "exif_rotated", "png_16_bit", "png_alpha")


def broken_file(image: np.ndarray, kind: str, rng: np.random.Generator) -> tuple[str, bytes]:
    """(extension, bytes) that no strict decoder accepts; `kind` is one of BROKEN."""
    if kind == "empty":
        return "jpg", b""
    if kind == "html":
        page = "<!DOCTYPE html><html><head><title>404</title></head><body>Not found</body></html>\n"
        return "jpg", page.encode()
    if kind == "truncated_png":
        data = png(image)
        return "png", data[: len(data) // 2]
    data = jpeg(image)
    if kind == "truncated":
        return "jpg", data[: int(len(data) * rng.uniform(0.4, 0.7))]
    # A marker that cannot stand inside the entropy-coded data, so a strict decoder must notice.
    at = int(len(data) * 0.6)
    noise = rng.integers(1, 255, 40, dtype=np.uint8).tobytes()
    return "jpg", data[:at] + noise + b"\xff\xc4\x00\x03" + data[at + 44 :]


def odd_file(image: np.ndarray, kind: str) -> tuple[str, bytes]:
    """(extension, bytes) of an unusual but valid file that shows `image` upright; `kind` is one of ODD."""
    if kind == "progressive":
        return "jpg", jpeg(image, progressive=True)
    if kind == "exif_rotated":
        # Orientation 6: the stored picture is to be turned by 90 degrees clockwise for display.
        return "jpg", _with_orientation(jpeg(np.ascontiguousarray(np.rot90(image))), 6)
    if kind == "png_16_bit":
        return "png", png(image.astype(np.uint16) * 257)
    opaque = np.full((*image.shape[:2], 1), 255, np.uint8)
    return "png", png(np.concatenate([image, opaque], 2))


def _with_orientation(data: bytes, orientation: int) -> bytes:
    """The JPEG with an EXIF segment that holds the orientation tag (0x0112) only."""
    tiff = b"II*\0" + (8).to_bytes(4, "little") + (1).to_bytes(2, "little")
    tiff += (0x0112).to_bytes(2, "little") + (3).to_bytes(2, "little") + (1).to_bytes(4, "little")
    tiff += orientation.to_bytes(2, "little") + b"\0\0" + (0).to_bytes(4, "little")
    body = b"Exif\0\0" + tiff
    return data[:2] + b"\xff\xe1" + (len(body) + 2).to_bytes(2, "big") + body + data[2:]
