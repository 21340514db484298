"""Resolution: sizes in px, as a picture is seen, after EXIF rotation."""


def shortest_side_px(width_px: int, height_px: int) -> int:
    """The side that the `min_side_px` rule looks at: "under 1024 x 1024" means either side is."""
    return min(width_px, height_px)


def fit_long_side(width_px: int, height_px: int, long_side_px: int) -> tuple[int, int]:
    """(width, height) with the long side at most `long_side_px` and the aspect kept; never enlarged."""
    if long_side_px < 1:
        raise ValueError(f"long_side_px is {long_side_px}; it must be 1 or more.")
    longest = max(width_px, height_px)
    if longest <= long_side_px:
        return width_px, height_px
    return (
        max(1, round(width_px * long_side_px / longest)),
        max(1, round(height_px * long_side_px / longest)),
    )
