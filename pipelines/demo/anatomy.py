"""A whole dog as painter's layers, from far to near; it faces right and stands on y = 0."""

import numpy as np

from pipelines.demo.canvas import Layer
from pipelines.demo.coats import outlines, shade, strands
from pipelines.demo.curves import Polygon, bend, ellipse, smooth, stroke
from pipelines.demo.heads import front, profile
from pipelines.demo.palettes import PALETTES, Color, Palette
from pipelines.demo.spec import DogSpec
from pipelines.demo.tails import tail

_COLLARS: tuple[Color, ...] = ((178, 52, 56), (52, 88, 160), (58, 128, 96), (120, 70, 140))


def dog(spec: DogSpec, rng: np.random.Generator) -> list[Layer]:
    """The layers of the dog that `spec` describes; `rng` jitters proportions."""
    palette = PALETTES[spec.palette]
    if spec.pose == "stand":
        return _stand(spec, palette, rng)
    if spec.pose == "sit":
        return _sit(spec, palette, rng)
    return _head(spec, palette, rng)


def _part(
    layer: Layer, polygon: Polygon, color: Color, coat: str, rng: np.random.Generator, depth=0.05
) -> None:
    layer.shapes += [(piece, color) for piece in outlines(polygon, coat, rng, depth)]
    layer.marks += strands(polygon, coat, color, rng, depth)


def _leg(layer: Layer, path: list[tuple[float, float]], thick: float, palette: Palette, far: bool) -> None:
    """A leg whose last point is on the ground, with a sock and a paw."""
    tone = 0.84 if far else 1.0
    x, y = path[-1]
    limb = stroke(bend(path), [thick, thick * 0.72, thick * 0.62])
    paw = ellipse(x + thick * 0.35, y - thick * 0.5, thick * 1.0, thick * 0.56)
    layer.shapes += [(limb, shade(palette.base, tone)), (paw, shade(palette.sock, tone))]
    top = path[-2][1]
    sock_top = y - 0.45 * (y - top)
    sock = np.array([(x - 0.3, sock_top), (x + 0.3, sock_top), (x + 0.3, y + 0.1), (x - 0.3, y + 0.1)])
    own = np.clip(sock, limb.min(0) - 0.02, limb.max(0) + 0.02)
    layer.marks.append((own, shade(palette.sock, tone)))
    for toe in (0.25, 0.65):
        line = [(x + thick * toe, y - thick * 0.45), (x + thick * (toe + 0.06), y - thick * 0.12)]
        layer.details.append((np.array(line), shade(palette.outline, 0.9), 0.01))


def _collar(
    neck: list[tuple[float, float]], thick: float, rng: np.random.Generator
) -> list[tuple[Polygon, Color]]:
    color = _COLLARS[int(rng.integers(len(_COLLARS)))]
    (x0, y0), (x1, y1) = neck
    mid = np.array([(x0 + 2 * x1) / 3, (y0 + 2 * y1) / 3])
    along = np.array([x1 - x0, y1 - y0]) / np.hypot(x1 - x0, y1 - y0)
    across = np.array([-along[1], along[0]])
    w, h = across * thick * 1.3, along * 0.032
    return [(np.array([mid - w - h, mid + w - h, mid + w + h, mid - w + h]), color)]


def _trunk(front_x: float, back_x: float, top: float, bottom: float, tuck: float) -> Polygon:
    """The body of a standing dog between chest and rump; `tuck` is how far the belly is drawn in."""
    mid = (top + bottom) / 2
    return smooth(
        [
            (front_x + 0.1, mid - 0.04),
            (front_x - 0.02, top + 0.01),
            (front_x - 0.3, top + 0.0),
            (0.0, top + 0.03),
            (back_x + 0.2, top + 0.02),
            (back_x - 0.02, top + 0.07),
            (back_x - 0.08, mid + 0.06),
            (back_x + 0.1, bottom - tuck * 0.4),
            (0.0, bottom - tuck),
            (front_x - 0.24, bottom + 0.01),
            (front_x + 0.03, bottom - 0.04),
        ]
    )


def _stand(spec: DogSpec, palette: Palette, rng: np.random.Generator) -> list[Layer]:
    short = spec.legs == "short"
    build, coat = spec.build, spec.coat
    leg = (0.2 if short else 0.46) * rng.uniform(0.9, 1.1)
    length = (0.98 if short else 0.84) * rng.uniform(0.95, 1.07)
    depth = (0.32 + 0.12 * build) * rng.uniform(0.95, 1.05)
    front_x, back_x = length / 2, -length / 2
    top, bottom = -(leg + depth), -leg
    mid = (top + bottom) / 2
    tuck = 0.08 - 0.04 * build
    trunk = _trunk(front_x, back_x, top, bottom, tuck)
    thick = 0.078 + 0.03 * build
    stride = rng.uniform(-0.07, 0.13)
    far = Layer(palette.outline)
    _leg(
        far,
        [(front_x - 0.02, mid), (front_x + 0.03, -leg * 0.5), (front_x + 0.02 + stride, 0)],
        thick,
        palette,
        True,
    )
    _leg(
        far,
        [(back_x + 0.14, mid), (back_x + 0.1, -leg * 0.5), (back_x + 0.16 - stride, 0)],
        thick,
        palette,
        True,
    )
    body = Layer(palette.outline)
    near = [
        [(front_x - 0.1, mid), (front_x - 0.1, -leg * 0.5), (front_x - 0.1 - stride, 0)],
        [(back_x + 0.04, mid + 0.06), (back_x - 0.04, -leg * 0.55), (back_x + 0.0 + stride * 0.6, 0)],
    ]
    r = (0.245 if short else 0.225) + 0.02 * build
    lift, reach = rng.uniform(-0.06, 0.06), rng.uniform(-0.06, 0.04)
    head_x, head_y = front_x + 0.12 + reach, top - 0.2 - lift - (0.05 if short else 0.0)
    neck = [(front_x - 0.1, top + 0.14), (head_x - 0.06, head_y + 0.06)]
    for path in near:
        _leg(body, path, thick, palette, False)
    thigh = ellipse(back_x + 0.07, mid + 0.1, 0.15 + 0.03 * build, 0.2)
    _part(body, thigh, palette.base, coat, rng)
    _part(body, stroke(neck, [0.2 + 0.03 * build, 0.15 + 0.03 * build]), palette.base, coat, rng)
    _part(body, trunk, palette.base, coat, rng)
    belly = smooth(
        [(front_x + 0.16, mid - 0.2), (front_x - 0.04, mid - 0.02), (front_x - 0.14, bottom - 0.1),
         (0, bottom - tuck - 0.05), (back_x + 0.16, bottom - 0.06), (0, bottom + 0.1),
         (front_x + 0.15, bottom + 0.1)]
    )  # fmt: skip
    body.marks.append((belly, palette.chest))
    body.marks += strands(belly, coat, palette.chest, rng, 0.05, 0.8)
    arc = bend([(back_x + 0.19, mid - 0.02), (back_x + 0.22, mid + 0.12), (back_x + 0.14, mid + 0.26)])
    body.details.append((arc, shade(palette.base, 0.78), 0.014))
    body.marks += _collar(neck, 0.2, rng)
    tail_layer = tail(spec.tail, coat, palette, rng, back_x + 0.02, top + 0.08)
    head = profile(spec.ears, spec.muzzle, coat, palette, rng, head_x, head_y, r, rng.uniform(-0.3, 0.3))
    behind = [far, tail_layer, body] if spec.tail != "curl" else [far, body, tail_layer]
    return [*behind, *head]


def _sit(spec: DogSpec, palette: Palette, rng: np.random.Generator) -> list[Layer]:
    short = spec.legs == "short"
    build, coat = spec.build, spec.coat
    leg = (0.24 if short else 0.5) * rng.uniform(0.9, 1.1)
    wide = 0.03 * build
    chest_y = -(leg + 0.16)
    trunk = smooth(
        [
            (0.34 + wide, chest_y - 0.06),
            (0.26, chest_y - 0.3),
            (0.06, chest_y - 0.3),
            (-0.14, chest_y - 0.02),
            (-0.34 - wide, -0.3),
            (-0.38 - wide, -0.1),
            (-0.26, -0.01),
            (0.0, -0.03),
            (0.2, -leg * 0.55),
            (0.34, chest_y + 0.14),
        ]
    )
    thick = 0.08 + 0.028 * build
    far = Layer(palette.outline)
    _leg(far, [(0.26, chest_y + 0.05), (0.29, -leg * 0.5), (0.3, 0)], thick, palette, True)
    body = Layer(palette.outline)
    r = 0.25 + 0.02 * build
    head_x, head_y = 0.26 + rng.uniform(-0.07, 0.05), chest_y - 0.45 + rng.uniform(-0.05, 0.04)
    neck = [(0.16, chest_y - 0.14), (head_x - 0.06, head_y + 0.08)]
    _part(body, stroke(neck, [0.2 + wide, 0.16 + wide]), palette.base, coat, rng)
    _part(body, trunk, palette.base, coat, rng)
    chest = smooth(
        [
            (0.5, chest_y - 0.34),
            (0.24, chest_y - 0.2),
            (0.2, chest_y + 0.1),
            (0.3, chest_y + 0.3),
            (0.5, chest_y),
        ]
    )
    body.marks.append((chest, palette.chest))
    body.marks += strands(chest, coat, palette.chest, rng)
    body.marks += _collar(neck, 0.2, rng)
    limbs = Layer(palette.outline)
    _leg(limbs, [(0.17, chest_y + 0.04), (0.18, -leg * 0.5), (0.18, 0)], thick, palette, False)
    thigh = ellipse(-0.12, -0.19, 0.2 + wide, 0.175, 0.3)
    _part(limbs, thigh, palette.base, coat, rng, 0.042)
    foot = ellipse(0.04, -0.05, 0.12, 0.052)
    limbs.shapes.append((foot, palette.sock))
    # A curl is seen beside the back, any other tail comes from behind it.
    curl = spec.tail == "curl"
    root = (-0.41 - wide, -0.2) if curl else (-0.33 - wide, -0.1)
    tail_layer = tail(spec.tail, coat, palette, rng, *root)
    head = profile(spec.ears, spec.muzzle, coat, palette, rng, head_x, head_y, r, rng.uniform(-0.3, 0.3))
    return [far, *([body, tail_layer] if curl else [tail_layer, body]), limbs, *head]


def _head(spec: DogSpec, palette: Palette, rng: np.random.Generator) -> list[Layer]:
    """Head and shoulders; the shoulders go on below y = 0, where the picture ends."""
    coat, wide = spec.coat, 0.08 * spec.build
    bust = Layer(palette.outline)
    tilt = rng.uniform(-0.24, 0.24)
    if spec.facing == "front":
        half = [(0.36, -0.5), (0.62 + wide, -0.1), (0.7 + wide, 0.6)]
        shoulders = smooth([(0, -0.6), *half, (0, 0.9), *[(-x, y) for x, y in half[::-1]]])
        chest = smooth([(0, -0.4), (0.26, -0.2), (0.3, 0.4), (0, 0.8), (-0.3, 0.4), (-0.26, -0.2)])
        head = front(spec.ears, spec.muzzle, coat, palette, rng, 0, -0.86, 0.56, tilt)
        neck = [(0.0, 0.3), (0.0, -0.42)]
    else:
        chest_side = [(0.2, -0.7), (0.32, -0.3), (0.5, 0.1), (0.5, 0.7)]
        shoulders = smooth([(-0.28, -0.95), *chest_side, (-0.7, 0.7), (-0.86 - wide, 0.1), (-0.62, -0.4)])
        chest = smooth([(0.5, -0.5), (0.16, -0.3), (0.16, 0.3), (0.4, 0.7), (0.8, 0.2)])
        shift = -0.16 if spec.muzzle == "long" else 0.0
        head = profile(spec.ears, spec.muzzle, coat, palette, rng, shift, -0.84, 0.54, tilt)
        neck = [(-0.3, 0.3), (-0.1, -0.5)]
    _part(bust, shoulders, palette.base, coat, rng, 0.07)
    bust.marks.append((chest, palette.chest))
    bust.marks += strands(chest, coat, palette.chest, rng, 0.08)
    bust.marks += _collar(neck, 0.5, rng)
    return [bust, *head]
