"""Heads in profile (facing right) and from the front, in units of the skull's radius, centred on it."""

import numpy as np

from pipelines.demo.canvas import Layer
from pipelines.demo.coats import outlines, shade, strands
from pipelines.demo.curves import Polygon, bend, ellipse, place, smooth, stroke
from pipelines.demo.palettes import Color, Palette

_TONGUE: Color = (226, 110, 122)
_EYE: Color = (44, 28, 22)
_SHINE: Color = (255, 255, 255)

# Ears in profile: outline with the base at the origin, and where the base sits on the skull.
_EARS_PROFILE: dict[str, list[tuple[float, float]]] = {
    "erect": [(-0.34, 0.12), (-0.3, -0.4), (-0.06, -0.95), (0.2, -0.4), (0.34, 0.1), (0.0, 0.3)],
    "bat": [
        (-0.4, 0.2),
        (-0.62, -0.5),
        (-0.5, -1.05),
        (-0.2, -1.3),
        (0.12, -1.1),
        (0.3, -0.5),
        (0.36, 0.15),
        (0.0, 0.35),
    ],
    "drop": [
        (0.2, -0.22),
        (-0.2, -0.24),
        (-0.48, 0.15),
        (-0.56, 0.75),
        (-0.38, 1.2),
        (-0.05, 1.22),
        (0.18, 0.8),
        (0.3, 0.25),
    ],
    "button": [
        (-0.32, 0.02),
        (-0.16, -0.3),
        (0.2, -0.3),
        (0.5, 0.05),
        (0.58, 0.46),
        (0.2, 0.34),
        (-0.12, 0.22),
    ],
}
_EAR_BASE_PROFILE = {
    "erect": (-0.32, -0.78),
    "bat": (-0.4, -0.7),
    "drop": (-0.36, -0.42),
    "button": (-0.3, -0.66),
}
# The right ear seen from the front; the left one is its mirror image.
_EARS_FRONT: dict[str, list[tuple[float, float]]] = {
    "erect": [(-0.36, 0.2), (-0.16, -0.42), (0.22, -0.98), (0.4, -0.4), (0.38, 0.3), (0.0, 0.42)],
    "bat": [
        (-0.34, 0.3),
        (-0.34, -0.5),
        (0.0, -1.15),
        (0.42, -1.3),
        (0.72, -0.95),
        (0.66, -0.35),
        (0.38, 0.4),
        (0.0, 0.5),
    ],
    "drop": [
        (-0.3, -0.24),
        (0.14, -0.28),
        (0.5, 0.05),
        (0.66, 0.75),
        (0.54, 1.35),
        (0.22, 1.42),
        (0.02, 0.9),
        (-0.06, 0.3),
    ],
    "button": [(-0.4, 0.0), (-0.1, -0.3), (0.3, -0.2), (0.46, 0.12), (0.4, 0.56), (0.06, 0.4), (-0.22, 0.2)],
}
_EAR_BASE_FRONT = {"erect": (0.6, -0.78), "bat": (0.62, -0.72), "drop": (0.8, -0.42), "button": (0.66, -0.66)}


def _ear(
    outline: Polygon, kind: str, coat: str, palette: Palette, rng: np.random.Generator, r: float, inner: bool
) -> Layer:
    """An ear already placed in dog units; r is the skull's radius."""
    layer = Layer(palette.outline)
    rough = coat if kind in ("drop", "button") or coat == "curly" else "smooth"
    layer.shapes += [(part, palette.ear) for part in outlines(outline, rough, rng, 0.15 * r)]
    layer.marks += strands(outline, rough, palette.ear, rng, 0.16 * r)
    if inner and kind in ("erect", "bat"):
        center = outline.mean(0)
        layer.marks.append(((outline - center) * 0.58 + center + (0, 0.06 * r), palette.inner_ear))
    if inner and kind == "button":
        fold = outline[: len(outline) // 2]
        layer.details.append((fold * 1.0, shade(palette.ear, 0.8), 0.03 * r))
    return layer


def profile(
    ears: str,
    muzzle: str,
    coat: str,
    palette: Palette,
    rng: np.random.Generator,
    x: float,
    y: float,
    r: float,
    tilt: float = 0.0,
) -> list[Layer]:
    """A head that looks right: far ear, skull with face, near ear. `tilt` in radians, nose down positive."""

    def at(polygon: Polygon) -> Polygon:
        return place(polygon, x, y, r, tilt)

    if muzzle == "long":
        snout = smooth(
            [(0.35, -0.42), (0.78, -0.22), (1.2, -0.08), (1.62, 0.0), (1.74, 0.24), (1.56, 0.5), (1.1, 0.62),
             (0.6, 0.82), (0.1, 0.86), (0.0, 0.2)]
        )  # fmt: skip
        nose, mouth = (1.66, 0.06, 0.17, 0.14), [(1.6, 0.3), (1.25, 0.4), (0.9, 0.42), (0.72, 0.3)]
        patch = smooth(
            [(0.72, -0.06), (1.2, -0.1), (1.74, 0.0), (1.8, 0.5), (1.1, 0.75), (0.6, 0.86), (0.5, 0.4)]
        )
    else:
        snout = smooth(
            [(0.45, -0.46), (0.84, -0.3), (1.02, -0.06), (1.12, 0.22), (1.06, 0.6), (0.82, 0.86), (0.4, 0.98),
             (0.0, 0.9), (0.0, 0.2)]
        )  # fmt: skip
        nose, mouth = (1.03, -0.04, 0.14, 0.13), [(1.06, 0.16), (1.0, 0.4), (0.84, 0.6), (0.58, 0.56)]
        patch = smooth(
            [(0.76, -0.06), (1.0, -0.2), (1.3, 0.1), (1.1, 0.8), (0.7, 1.05), (0.42, 0.7), (0.5, 0.28)]
        )
    skull = ellipse(0, 0, 1.0, 0.95)
    base = _EAR_BASE_PROFILE[ears]
    swing = rng.uniform(-0.12, 0.12)
    ear = smooth(_EARS_PROFILE[ears])
    far = _ear(
        at(place(ear, base[0] + 0.42, base[1] - 0.02, 0.94, swing + 0.12)), ears, coat, palette, rng, r, False
    )
    near = _ear(at(place(ear, base[0], base[1], 1.0, swing)), ears, coat, palette, rng, r, True)
    face = Layer(palette.outline)
    face.shapes += [(part, palette.base) for part in outlines(at(skull), coat, rng, 0.14 * r)]
    face.shapes.append((at(snout), palette.base))
    face.marks += strands(at(skull), coat, palette.base, rng, 0.17 * r, 0.7)
    face.marks.append((at(patch), palette.muzzle))
    if coat == "curly":  # the top knot
        knot = ellipse(-0.05, -0.8, 0.62, 0.42)
        face.shapes += [(part, palette.base) for part in outlines(at(knot), coat, rng, 0.17 * r)]
        face.marks += strands(at(knot), coat, palette.base, rng, 0.17 * r)
    if rng.random() < 0.45:
        tip = mouth[1] if muzzle == "long" else mouth[2]
        tongue = stroke([(tip[0] - 0.1, tip[1]), (tip[0] - 0.06, tip[1] + 0.3)], [0.13, 0.14])
        face.shapes.insert(0, (at(tongue), _TONGUE))
    face.details += [(at(p), c, w * r) for p, c, w in _eye(0.44 if muzzle == "long" else 0.34, -0.2, 0.17)]
    face.details.append((at(ellipse(*nose)), palette.nose, 0))
    face.details.append((at(ellipse(nose[0] - 0.02, nose[1] - 0.06, 0.05, 0.03)), (150, 146, 150), 0))
    face.details.append((at(bend(mouth)), shade(palette.outline, 0.7), 0.06 * r))
    return [far, face, near] if ears in ("drop", "button") else [far, near, face]


def _eye(x: float, y: float, radius: float) -> list[tuple[Polygon, Color, float]]:
    return [
        (ellipse(x, y, radius * 1.22, radius * 1.22, steps=16), (24, 18, 18), 0),
        (ellipse(x, y, radius, radius, steps=16), (84, 52, 32), 0),
        (ellipse(x, y, radius * 0.66, radius * 0.66, steps=12), _EYE, 0),
        (ellipse(x + radius * 0.35, y - radius * 0.4, radius * 0.36, radius * 0.36, steps=10), _SHINE, 0),
    ]


def front(
    ears: str,
    muzzle: str,
    coat: str,
    palette: Palette,
    rng: np.random.Generator,
    x: float,
    y: float,
    r: float,
    tilt: float = 0.0,
) -> list[Layer]:
    """A head that looks at the viewer: ears behind or beside the skull, both eyes, muzzle in the middle."""

    def at(polygon: Polygon) -> Polygon:
        return place(polygon, x, y, r, tilt)

    base, ear = _EAR_BASE_FRONT[ears], smooth(_EARS_FRONT[ears])
    swing = rng.uniform(-0.1, 0.1)
    both = []
    for side in (1.0, -1.0):
        outline = place(ear, base[0], base[1], 1.0, swing * side) * (side, 1.0)
        both.append(_ear(at(outline), ears, coat, palette, rng, r, True))
    wide = 1.08 if muzzle == "short" else 0.98
    skull = smooth(
        [(0, -1.0), (0.62, -0.86), (0.98 * wide, -0.25), (0.96 * wide, 0.35), (0.6 * wide, 0.86), (0, 1.0),
         (-0.6 * wide, 0.86), (-0.96 * wide, 0.35), (-0.98 * wide, -0.25), (-0.62, -0.86)]
    )  # fmt: skip
    face = Layer(palette.outline)
    face.shapes += [(part, palette.base) for part in outlines(at(skull), coat, rng, 0.13 * r)]
    face.marks += strands(at(skull), coat, palette.base, rng, 0.16 * r, 0.7)
    if coat == "curly":
        knot = ellipse(0, -0.85, 0.7, 0.42)
        face.shapes += [(part, palette.base) for part in outlines(at(knot), coat, rng, 0.16 * r)]
        face.marks += strands(at(knot), coat, palette.base, rng, 0.16 * r)
    layers = [*both, face] if ears in ("erect", "bat") else [face, *both]
    layers.append(_front_muzzle(muzzle, palette, rng, at, r))
    eyes = 0.5 if muzzle == "short" else 0.42
    face.details += [
        (at(p), c, w * r)
        for s in (-1, 1)
        for p, c, w in _eye(s * eyes, -0.16 if muzzle == "long" else -0.08, 0.18)
    ]
    return layers


def _front_muzzle(muzzle: str, palette: Palette, rng: np.random.Generator, at, r: float) -> Layer:
    layer = Layer(shade(palette.muzzle, 0.72), 0.035 * r)
    line = shade(palette.outline, 0.6)
    panting = rng.random() < 0.45
    if muzzle == "long":
        pad = smooth(
            [
                (-0.24, 0.0),
                (0.24, 0.0),
                (0.4, 0.5),
                (0.44, 1.0),
                (0.24, 1.32),
                (-0.24, 1.32),
                (-0.44, 1.0),
                (-0.4, 0.5),
            ]
        )
        nose_y, lip, size = 0.74, 1.12, 0.22
    else:
        pad = smooth(
            [
                (-0.3, 0.12),
                (0.3, 0.12),
                (0.7, 0.42),
                (0.72, 0.82),
                (0.34, 0.92),
                (-0.34, 0.92),
                (-0.72, 0.82),
                (-0.7, 0.42),
            ]
        )
        nose_y, lip, size = 0.26, 0.62, 0.2
        wrinkle = bend([(-0.36, -0.42), (0.0, -0.54), (0.36, -0.42)])
        layer.details.append((at(wrinkle), shade(palette.base, 0.78), 0.05 * r))
    if panting:
        layer.shapes.append((at(stroke([(0, lip), (0, lip + 0.4)], [0.17, 0.16])), _TONGUE))
    layer.shapes.append((at(pad), palette.muzzle))
    layer.details.append((at(bend([(0, nose_y), (0, lip)])), line, 0.05 * r))
    for side in (-1, 1):
        smile = [(0, lip), (side * 0.2, lip + 0.1), (side * 0.38, lip - 0.06)]
        layer.details.append((at(bend(smile)), line, 0.055 * r))
    layer.details.append((at(ellipse(0, nose_y, size * 1.15, size * 0.85)), palette.nose, 0))
    layer.details.append((at(ellipse(-0.06, nose_y - size * 0.35, 0.08, 0.04)), (150, 146, 150), 0))
    return layer
