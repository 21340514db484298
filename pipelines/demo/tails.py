"""Tails, drawn from their root at the origin; the dog faces right, so a tail points left."""

import numpy as np

from pipelines.demo.canvas import Layer
from pipelines.demo.coats import outlines, shade, strands
from pipelines.demo.curves import bend, place, stroke
from pipelines.demo.palettes import Palette


def tail(kind: str, coat: str, palette: Palette, rng: np.random.Generator, x: float, y: float) -> Layer:
    """A tail of `kind` (curl, straight, docked, plume) whose root is at (x, y)."""
    layer = Layer(palette.outline)
    angle = rng.uniform(-0.2, 0.2)
    color = palette.base
    if kind == "curl":
        # A spiral that rises from the root and lies over the back.
        phi = np.linspace(np.pi * 0.75, np.pi * 2.75, 22)
        radius = np.linspace(0.19, 0.065, 22)
        path = np.stack([0.03 + radius * np.cos(phi), -0.16 + radius * np.sin(phi)], 1)
        path = np.concatenate([[[0.02, 0.03]], path])
        body = place(stroke(path, [0.06, 0.068, 0.06, 0.035]), x, y, 1.0, angle * 0.5)
    elif kind == "straight":
        path = bend([(0.06, 0.0), (-0.1, -0.06), (-0.26, -0.17), (-0.4, -0.32)])
        body = place(stroke(path, [0.06, 0.05, 0.038, 0.02]), x, y, 1.0, angle)
    elif kind == "plume":
        path = bend([(0.06, 0.02), (-0.1, -0.08), (-0.2, -0.26), (-0.2, -0.46), (-0.1, -0.6)])
        body = place(stroke(path, [0.05, 0.1, 0.15, 0.13, 0.03]), x, y, 1.0, angle)
        layer.shapes += [(part, color) for part in outlines(body, "long", rng, 0.075)]
        layer.marks += strands(body, "long", color, rng, 0.06, 1.4)
        return layer
    else:
        body = place(stroke([(0.05, 0.01), (-0.01, -0.02), (-0.045, -0.04)], [0.055, 0.05, 0.045]), x, y)
    depth = 0.028 if kind == "docked" else 0.042
    layer.shapes += [(part, color) for part in outlines(body, coat, rng, depth)]
    layer.marks += strands(body, coat, color, rng, depth)
    if kind == "curl":
        inner = place(path[2:], x, y, 1.0, angle * 0.5)
        layer.details.append((inner[6:] * 1.0, shade(palette.base, 0.82), 0.012))
    return layer
