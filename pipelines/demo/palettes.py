"""Coat colours. Breeds that share a palette can be told apart by their shape only."""

from dataclasses import dataclass

Color = tuple[int, int, int]


@dataclass(frozen=True)
class Palette:
    """sRGB colours of one coat; `phrases` are the words a caption may use for it."""

    phrases: tuple[str, ...]
    base: Color
    chest: Color
    muzzle: Color
    ear: Color
    sock: Color
    outline: Color
    nose: Color = (38, 32, 34)
    inner_ear: Color = (222, 160, 150)


PALETTES: dict[str, Palette] = {
    "gold": Palette(
        ("golden", "honey gold", "warm yellow"),
        base=(222, 174, 104),
        chest=(240, 208, 152),
        muzzle=(234, 196, 134),
        ear=(198, 142, 76),
        sock=(230, 188, 124),
        outline=(132, 86, 40),
    ),
    "red_white": Palette(
        ("red and white", "rust and white", "orange and white"),
        base=(196, 104, 52),
        chest=(246, 240, 230),
        muzzle=(246, 238, 226),
        ear=(178, 90, 44),
        sock=(244, 238, 228),
        outline=(104, 52, 26),
    ),
    "fawn_mask": Palette(
        ("black masked fawn", "dark faced fawn", "black faced beige"),
        base=(216, 186, 146),
        chest=(228, 204, 170),
        muzzle=(66, 54, 52),
        ear=(74, 60, 56),
        sock=(214, 184, 146),
        outline=(118, 90, 66),
        inner_ear=(128, 98, 92),
    ),
    "white": Palette(
        ("white", "snow white", "pure white"),
        base=(238, 234, 226),
        chest=(248, 246, 240),
        muzzle=(244, 240, 232),
        ear=(226, 218, 204),
        sock=(240, 236, 228),
        outline=(150, 140, 128),
    ),
    "black_tan": Palette(
        ("black and tan", "black and rust", "black and brown"),
        base=(54, 50, 54),
        chest=(184, 116, 62),
        muzzle=(186, 118, 64),
        ear=(42, 39, 43),
        sock=(180, 112, 58),
        outline=(20, 18, 22),
        inner_ear=(120, 90, 84),
    ),
    "chocolate": Palette(
        ("chocolate brown", "dark brown", "deep brown"),
        base=(118, 76, 52),
        chest=(134, 90, 62),
        muzzle=(128, 84, 58),
        ear=(96, 60, 42),
        sock=(120, 78, 54),
        outline=(58, 34, 24),
        nose=(62, 38, 32),
        inner_ear=(170, 118, 104),
    ),
    "blue_gray": Palette(
        ("blue gray", "slate gray", "steel gray"),
        base=(126, 134, 148),
        chest=(152, 160, 172),
        muzzle=(144, 152, 164),
        ear=(104, 112, 126),
        sock=(134, 142, 156),
        outline=(62, 68, 80),
        inner_ear=(190, 156, 158),
    ),
}
