"""Where the boxes of a graph go: in layers, each below those it needs, with few crossings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 240, 52
GAP_X, GAP_Y, MARGIN = 20, 30, 8
# How far lines that pass other layers swing out: a cubic curve reaches three quarters of it.
SWING, SWING_PER_LAYER, SIDE = 166, 7, 72
_SWEEPS = 6


@dataclass(frozen=True)
class Box:
    """A node's place, in SVG units."""

    id: str
    x: float
    y: float
    width: int = WIDTH
    height: int = HEIGHT


@dataclass(frozen=True)
class Line:
    """An edge as an SVG path from the lower side of `source` to the upper side of `target`."""

    source: str
    target: str
    path: str


@dataclass(frozen=True)
class Drawing:
    """Boxes and lines within (0, 0) and (width, height)."""

    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    width: float
    height: float


def draw(needs: Mapping[str, Sequence[str]]) -> Drawing:
    """Lay out a graph without circles; `needs` maps each node to those above it, which stand before it.

    Names in `needs` that are no nodes are ignored.
    """
    above = {
        id: [other for other in others if other in needs and other != id] for id, others in needs.items()
    }
    layers = _layers(above)
    _untangle(layers, above)
    across = max((len(layer) for layer in layers), default=0)
    inner = max(across * (WIDTH + GAP_X) - GAP_X, 0)
    boxes = {}
    for depth, layer in enumerate(layers):
        left = MARGIN + (inner - len(layer) * (WIDTH + GAP_X) + GAP_X) / 2
        for place, id in enumerate(layer):
            boxes[id] = Box(id, left + place * (WIDTH + GAP_X), MARGIN + depth * (HEIGHT + GAP_Y))
    lines = tuple(
        Line(other, id, _path(boxes[other], boxes[id])) for id, others in above.items() for other in others
    )
    height = 2 * MARGIN + max(len(layers) * (HEIGHT + GAP_Y) - GAP_Y, 0)
    return Drawing(tuple(boxes.values()), lines, inner + 2 * MARGIN + SIDE, height)


def _layers(above: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Each node one layer below the lowest that it needs."""
    depth: dict[str, int] = {}
    for id, others in above.items():
        depth[id] = 1 + max((depth[other] for other in others if other in depth), default=-1)
    layers: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for id, at in depth.items():
        layers[at].append(id)
    return layers


def _untangle(layers: list[list[str]], above: Mapping[str, Sequence[str]]) -> None:
    """Order each layer by the mean place of its neighbours, downwards and upwards (barycentre heuristic)."""
    below: dict[str, list[str]] = {id: [] for id in above}
    for id, others in above.items():
        for other in others:
            below[other].append(id)
    for sweep in range(_SWEEPS):
        neighbours: Mapping[str, Sequence[str]] = above if sweep % 2 == 0 else below
        place = {id: at / max(len(layer), 1) for layer in layers for at, id in enumerate(layer)}
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            mean = {
                id: sum(place[other] for other in neighbours[id]) / len(neighbours[id])
                if neighbours[id]
                else place[id]
                for id in layer
            }
            layer.sort(key=mean.__getitem__)
            place.update({id: at / max(len(layer), 1) for at, id in enumerate(layer)})


def _path(start: Box, end: Box) -> str:
    x0, y0 = start.x + start.width / 2, start.y + start.height
    x1, y1 = end.x + end.width / 2, end.y
    layers = round((y1 - y0) / (HEIGHT + GAP_Y))
    if not layers:
        bend = (y1 - y0) / 2
        return f"M{x0:.1f} {y0:.1f}C{x0:.1f} {y0 + bend:.1f} {x1:.1f} {y1 - bend:.1f} {x1:.1f} {y1:.1f}"
    # Straight down, it would run behind the boxes between.
    side = max(x0, x1) + min(SWING + SWING_PER_LAYER * layers, 4 * (WIDTH / 2 + SIDE) / 3)
    return f"M{x0:.1f} {y0:.1f}C{side:.1f} {y0 + GAP_Y:.1f} {side:.1f} {y1 - GAP_Y:.1f} {x1:.1f} {y1:.1f}"
