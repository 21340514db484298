"""What a segmenter is asked: the strategies box, centre_point and automatic as prompts for one picture."""

from dataclasses import dataclass

BOX = "box"
CENTRE_POINT = "centre_point"
AUTOMATIC = "automatic"
STRATEGIES = (BOX, CENTRE_POINT, AUTOMATIC)

DEFAULT_MARGIN = 0.05
DEFAULT_POINTS_PER_SIDE = 16


@dataclass(frozen=True)
class BoxPrompt:
    """The subject lies in this box: x0, y0, x1, y1 in px."""

    box: tuple[float, float, float, float]


@dataclass(frozen=True)
class PointPrompt:
    """The subject covers these points: (x, y) in px."""

    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class GridPrompt:
    """No hint: ask at every point of a grid and unite what is not background (see grid.py)."""

    points_per_side: int = DEFAULT_POINTS_PER_SIDE


Prompt = BoxPrompt | PointPrompt | GridPrompt


def centred_box(width_px: int, height_px: int, margin: float = DEFAULT_MARGIN) -> BoxPrompt:
    """A box that leaves `margin` (0 <= margin < 0.5) of each side free all around."""
    if not 0 <= margin < 0.5:
        raise ValueError(f"The box margin is {margin}; it must be at least 0 and below 0.5.")
    x, y = margin * width_px, margin * height_px
    return BoxPrompt((x, y, width_px - x, height_px - y))


def centre_point(width_px: int, height_px: int) -> PointPrompt:
    """The point in the middle of the picture."""
    return PointPrompt(((width_px / 2, height_px / 2),))


def prompts_for(
    strategy: str,
    width_px: int,
    height_px: int,
    *,
    margin: float = DEFAULT_MARGIN,
    points_per_side: int = DEFAULT_POINTS_PER_SIDE,
    box: tuple[float, float, float, float] | None = None,
) -> dict[str, Prompt]:
    """The prompts of one picture by name, the strategy's own first.

    Box and centre point always are among them, for the encoder is the cost and a second prompt is nearly
    free; the grid costs as much as the encoder, so it is asked only by its own strategy. `box` is a known box
    (from a detector or an annotation) instead of the centred one.
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"There is no prompt strategy {strategy!r}; choose one of {', '.join(STRATEGIES)}.")
    prompts: dict[str, Prompt] = {
        BOX: BoxPrompt(box) if box is not None else centred_box(width_px, height_px, margin),
        CENTRE_POINT: centre_point(width_px, height_px),
    }
    if strategy == AUTOMATIC:
        prompts[AUTOMATIC] = GridPrompt(points_per_side)
    return {strategy: prompts.pop(strategy), **prompts}
