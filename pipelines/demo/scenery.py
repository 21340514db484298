"""Places that are nowhere: random scenery to train the segmenter on, so that it learns dogs and not places.

Each is a ground and a sky, or one surface, in muted random colours, with a few layers of random things:
posts, boards, lines to a vanishing point, round and pointed shapes, panels, texture.
"""

from collections.abc import Callable

import cv2
import numpy as np

from pipelines.demo.backgrounds import noise, shadows, split
from pipelines.demo.palettes import Color

Layer = Callable[[np.ndarray, float, np.random.Generator], None]


def scenery(size_px: int, rng: np.random.Generator) -> np.ndarray:
    """A random place: (size_px, size_px, 3) float32 in 0..255."""
    horizon = float(rng.uniform(0.25, 0.75)) if rng.random() < 0.85 else 0.999
    image = split(size_px, horizon, (_color(rng), _color(rng)), (_color(rng), _color(rng)))
    for _ in range(int(rng.integers(1, 4))):
        _LAYERS[int(rng.integers(len(_LAYERS)))](image, horizon, rng)
    if rng.random() < 0.5:
        image = np.ascontiguousarray(image[:, ::-1])
    return shadows(np.ascontiguousarray(image, np.float32), 0.2, rng)


def _color(rng: np.random.Generator) -> Color:
    """A colour of little saturation, as those of walls, skies and grounds."""
    gray = rng.uniform(70, 235)
    red, green, blue = np.clip(gray + rng.normal(0, 18, 3), 0, 255)
    return int(red), int(green), int(blue)


def _area(horizon: float, rng: np.random.Generator) -> tuple[float, float]:
    """Top and bottom (fractions of the height) of the sky, of the ground or of both."""
    return [(0.0, horizon), (horizon, 1.0), (0.0, 1.0)][int(rng.integers(3))]


def _posts(image: np.ndarray, horizon: float, rng: np.random.Generator) -> None:
    n = len(image)
    wide, gap = rng.uniform(0.01, 0.06), rng.uniform(0.04, 0.25)
    low = horizon + rng.uniform(-0.05, 0.1)
    high = low - rng.uniform(0.1, 0.8)
    color = _color(rng)
    for x in np.arange(-rng.uniform(0, gap), 1, wide + gap):
        x += rng.uniform(0, gap) * rng.integers(2)
        cv2.rectangle(image, (int(x * n), int(high * n)), (int((x + wide) * n), int(low * n)), color, -1)
    if rng.random() < 0.5:
        y = high + rng.uniform(-0.02, 0.1)
        cv2.rectangle(image, (0, int(y * n)), (n, int((y + rng.uniform(0.01, 0.05)) * n)), _color(rng), -1)


def _boards(image: np.ndarray, horizon: float, rng: np.random.Generator) -> None:
    n = len(image)
    top, bottom = _area(horizon, rng)
    step, growth, color = rng.uniform(0.02, 0.09), rng.uniform(1.0, 1.35), _color(rng)
    thick = max(int(rng.uniform(0.003, 0.014) * n), 1)
    y = top
    while y < bottom:
        cv2.line(image, (0, int(y * n)), (n, int(y * n)), color, thick)
        y, step = y + step, step * growth


def _converging(image: np.ndarray, horizon: float, rng: np.random.Generator) -> None:
    n, color = len(image), _color(rng)
    far, near = rng.uniform(0.3, 1.0), rng.uniform(1.0, 2.2)
    thick = max(int(rng.uniform(0.003, 0.014) * n), 1)
    for x in np.linspace(-1, 2, int(rng.integers(8, 26))):
        start, end = (0.5 + (x - 0.5) * far, horizon), (0.5 + (x - 0.5) * near, 1.0)
        cv2.line(image, (int(start[0] * n), int(start[1] * n)), (int(end[0] * n), n), color, thick)


def _round(image: np.ndarray, horizon: float, rng: np.random.Generator) -> None:
    n = len(image)
    top, bottom = _area(horizon, rng)
    colors = [_color(rng) for _ in range(4)]
    size = float(np.exp(rng.uniform(np.log(0.006), np.log(0.14))))
    count = int(min(150, rng.uniform(0.1, 0.5) / size**1.3)) + 2
    for x, y in rng.random((count, 2)):
        y = top + y * (bottom - top)
        axes = (int(size * rng.uniform(0.6, 1.4) * n * 16), int(size * rng.uniform(0.4, 1.4) * n * 16))
        center = (int(x * n * 16), int(y * n * 16))
        color = colors[int(rng.integers(4))]
        cv2.ellipse(image, center, axes, float(rng.uniform(0, 180)), 0, 360, color, -1, cv2.LINE_8, 4)


def _pointed(image: np.ndarray, horizon: float, rng: np.random.Generator) -> None:
    n, color = len(image), _color(rng)
    for _ in range(int(rng.integers(2, 8))):
        x, half, high = rng.uniform(0, 1), rng.uniform(0.02, 0.2), rng.uniform(0.05, 0.5)
        foot = horizon + rng.uniform(-0.02, 0.06)
        corners = np.array([(x + rng.normal(0, 0.02), foot - high), (x - half, foot), (x + half, foot)]) * n
        cv2.fillPoly(image, [corners.astype(np.int32)], color)


def _panels(image: np.ndarray, horizon: float, rng: np.random.Generator) -> None:
    n = len(image)
    top, bottom = _area(horizon, rng)
    for _ in range(int(rng.integers(1, 6))):
        left, up = rng.uniform(-0.1, 0.9), top + rng.uniform(-0.1, 0.9) * (bottom - top)
        right, down = left + rng.uniform(0.03, 0.35), min(up + rng.uniform(0.03, 0.4), bottom)
        corners = ((int(left * n), int(up * n)), (int(right * n), int(down * n)))
        cv2.rectangle(image, *corners, _color(rng), -1)
        if rng.random() < 0.5:
            cv2.rectangle(image, *corners, _color(rng), max(n // 60, 1))


def _texture(image: np.ndarray, horizon: float, rng: np.random.Generator) -> None:
    n = len(image)
    top, bottom = (int(y * n) for y in _area(horizon, rng))
    cell, stretch = float(np.exp(rng.uniform(np.log(0.012), np.log(0.3)))), float(rng.uniform(0.4, 8))
    image[top:bottom] *= 1 + rng.uniform(0.03, 0.15) * noise(n, cell, rng, stretch)[top:bottom, :, None]


_LAYERS: tuple[Layer, ...] = (_posts, _boards, _converging, _round, _pointed, _panels, _texture)
