"""Coat texture: what makes an outline smooth, curly or long-haired, and the strokes inside it."""

import cv2
import numpy as np

from pipelines.demo.curves import Polygon, ellipse, resample
from pipelines.demo.palettes import Color


def shade(color: Color, factor: float) -> Color:
    """The colour with every channel multiplied, clipped to 0..255."""
    r, g, b = (int(min(max(c * factor, 0), 255)) for c in color)
    return r, g, b


_DISC = ellipse(0, 0, 1, 1, steps=12)
# A strand of hair of length 1 that hangs from the origin: pointed at both ends, so it is convex.
_HAIR = np.array([(0.0, 0.0), (0.1, 0.35), (0.05, 0.75), (0.0, 1.0), (-0.06, 0.7), (-0.08, 0.3)])


def _discs(x: np.ndarray, y: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Circles as (K,12,2)."""
    return _DISC[None] * radius[:, None, None] + np.stack([x, y], 1)[:, None]


def outlines(polygon: Polygon, coat: str, rng: np.random.Generator, depth: float = 0.05) -> list[Polygon]:
    """The polygons that make a body part's silhouette in this coat.

    smooth: the part itself. curly: bubbles of radius ~ depth along its edge. long: tufts of length ~ depth
    that hang down.
    """
    if coat == "curly":
        points, normals = resample(polygon, depth * 1.45)
        inside = points - normals * depth * 0.2
        bubbles = _discs(inside[:, 0], inside[:, 1], depth * rng.uniform(0.85, 1.25, len(points)))
        return [polygon, bubbles]
    if coat == "long":
        points, normals = resample(polygon, depth * 0.8)
        length = depth * rng.uniform(0.35, 1.0, len(points))
        length[::2] *= -0.25
        length[normals[:, 1] < -0.7] *= 0.35  # hair lies flat on top and hangs from the rest
        tufted = points + normals * length[:, None]
        tufted[1::2, 1] += depth * 0.5 * (normals[1::2, 1] > -0.5)
        return [tufted]
    return [polygon]


def strands(
    polygon: Polygon,
    coat: str,
    color: Color,
    rng: np.random.Generator,
    depth: float = 0.05,
    density: float = 1.0,
) -> list[tuple[Polygon, Color]]:
    """Marks inside a part: curls for curly, hair strokes for long, nothing for smooth."""
    if coat == "smooth":
        return []
    low, high = polygon.min(0), polygon.max(0)
    count = int(density * np.prod(high - low) / (depth * depth * (3.0 if coat == "curly" else 2.4)))
    count = min(count, 70)
    places = low + rng.random((count, 2)) * (high - low)
    outline = polygon.astype(np.float32)
    inside = [cv2.pointPolygonTest(outline, (float(x), float(y)), False) >= 0 for x, y in places]
    x, y = places[np.array(inside, bool)].T
    count = len(x)
    if coat == "curly":
        radius = depth * rng.uniform(0.65, 0.95, count)
        light = _discs(x + radius * 0.15, y - radius * 0.25, radius * 0.72)
        return [(_discs(x, y, radius), shade(color, 0.72)), (light, shade(color, 1.08))]
    hair = np.repeat(_HAIR[None], count, 0) * (depth * rng.uniform(1.6, 2.8, count))[:, None, None]
    hair[..., 0] += rng.uniform(-0.5, 0.1, count)[:, None] * hair[..., 1]
    hair += np.stack([x, y], 1)[:, None]
    dark = int(count * 0.6)
    return [(hair[:dark], shade(color, 0.74)), (hair[dark:], shade(color, 1.1))]
