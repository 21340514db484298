"""Which image is this, and how large is it: answered from the header, without decoding a pixel."""

from dataclasses import dataclass

from components.data.image_container import Container
from components.data.image_error import ImageError
from components.data.image_jpeg import parse_jpeg
from components.data.image_pillow import parse_gif, parse_with_pillow
from components.data.image_png import SIGNATURE, parse_png
from components.data.image_webp import parse_webp


@dataclass(frozen=True, slots=True)
class ImageHeader:
    """Format, size in px after EXIF rotation, and the number of frames (1 for a still picture)."""

    format: str
    width_px: int
    height_px: int
    frames: int


def read_header(data: bytes) -> ImageHeader:
    """Header of an image file, by its content and never by its name.

    Raises ImageError for whatever cannot be a picture: empty_file, not_an_image, truncated or corrupt inside
    the header, too_large (over MAX_PIXELS), unsupported. A damage further on shows only when it is decoded.
    """
    container = parse(data)
    width, height = container.width_px, container.height_px
    if container.orientation >= 5:
        width, height = height, width
    return ImageHeader(container.format, width, height, container.frames)


def parse(data: bytes) -> Container:
    """The parsed header, with the sizes as stored. Raises ImageError."""
    if data[:3] == b"\xff\xd8\xff":
        return parse_jpeg(data)
    if data[:8] == SIGNATURE:
        return parse_png(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return parse_webp(data)
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return parse_gif(data)
    if data[:2] == b"BM":
        return parse_with_pillow(data, "bmp")
    if data[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
        return parse_with_pillow(data, "tiff")
    raise _unknown(data)


# (offset, magic bytes, name): pictures that people do have, and whose name makes the error useful.
_UNSUPPORTED = (
    (4, b"ftypavif", "AVIF"),
    (4, b"ftypavis", "AVIF"),
    (4, b"ftyphei", "HEIC"),
    (4, b"ftyphev", "HEIC"),
    (4, b"ftypmif1", "HEIF"),
    (4, b"ftypmsf1", "HEIF"),
    (0, b"\0\0\0\x0cJXL ", "JPEG XL"),
    (0, b"\xff\x0a", "JPEG XL"),
    (0, b"\0\0\0\x0cjP  ", "JPEG 2000"),
    (0, b"8BPS", "Photoshop"),
    (0, b"%PDF", "PDF"),
    (0, b"\0\0\x01\0", "icon"),
)
# What stands in place of pictures after failed downloads and unpulled repositories.
_NOT_IMAGES = (
    (b"version https://git-lfs", "a Git LFS pointer: run `git lfs pull`"),
    (b"<!doctype html", "a web page: download the picture again"),
    (b"<html", "a web page: download the picture again"),
    (b"<?xml", "XML or SVG text: export it as PNG"),
    (b"<svg", "SVG text: export it as PNG"),
    (b"{", "JSON text: download the picture again"),
)


def _unknown(data: bytes) -> ImageError:
    if not data:
        return ImageError("empty_file", "The file is empty (0 bytes): copy or download it again.")
    for offset, magic, name in _UNSUPPORTED:
        if data[offset : offset + len(magic)] == magic:
            return ImageError(
                "unsupported",
                f"{name} files are not read (JPEG, PNG, WebP, GIF, BMP, TIFF are): convert to JPEG or PNG.",
            )
    start = data[:256].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    for text, what in _NOT_IMAGES:
        if start.startswith(text):
            return ImageError("not_an_image", f"The file is {what}.")
    return ImageError(
        "not_an_image",
        f"The file starts with {data[:4].hex(' ')}, which is no image format: replace it or remove it.",
    )
