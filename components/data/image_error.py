"""What can be wrong with an image file, and the limits that are checked before pixels are decoded."""

from typing import Literal

Code = Literal["empty_file", "not_an_image", "truncated", "corrupt", "too_large", "unsupported"]

# Above the largest consumer photos (108-200 MP phones); 600 MB as RGB, so a bomb cannot take a worker down.
MAX_PIXELS = 200_000_000


class ImageError(ValueError):
    """An image that cannot become the right picture. `code` is stable, the text is a sentence for people."""

    code: Code

    def __init__(self, code: Code, message: str):
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type["ImageError"], tuple[Code, str]]:
        return type(self), (self.code, str(self))


def check_size(width_px: int, height_px: int) -> None:
    """Refuse a declared size that is empty or over MAX_PIXELS; call it before anything is allocated."""
    if width_px <= 0 or height_px <= 0:
        raise ImageError(
            "corrupt",
            f"The header declares {width_px} x {height_px} px; the file is damaged: export it again.",
        )
    if width_px * height_px > MAX_PIXELS:
        raise ImageError(
            "too_large",
            f"The picture declares {width_px} x {height_px} px, over the limit of {MAX_PIXELS:,} px: "
            "shrink it before ingest.",
        )


def truncated(what: str) -> ImageError:
    return ImageError("truncated", f"The file ends early ({what}): copy or download it again.")


def corrupt(what: str) -> ImageError:
    return ImageError("corrupt", f"The file is damaged ({what}): copy or export it again.")
