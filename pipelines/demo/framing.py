"""Where the dog stands in the picture, and how large: solved for the wanted foreground ratio."""

import numpy as np

from pipelines.demo.canvas import Frame, Layer, silhouette
from pipelines.demo.spec import DogSpec

_PROBE_PX = 96  # the size at which areas are measured; the frame is then scaled to the picture
_BORDER = 0.025  # free border around a standing or sitting dog, as a fraction of the side
_SLOPE = 0.07  # radians by which a dog may lean


def fit(layers: list[Layer], spec: DogSpec, rng: np.random.Generator) -> Frame:
    """The frame for a picture of side 1 in which the dog covers about `spec.foreground`.

    A whole body stays inside the picture, so a wide dog may stay below the wanted ratio.
    """
    angle, jitter, level = rng.uniform(-_SLOPE, _SLOPE), rng.uniform(-1, 1), rng.uniform(0, 1)
    unit = Frame(1.0, 0, 0, -1.0 if spec.facing == "left" else 1.0, angle)
    points = np.concatenate([polygon.reshape(-1, 2) for layer in layers for polygon, _ in layer.shapes])
    corners = unit.transform(points)
    low, high = corners.min(0) - 0.014, corners.max(0) + 0.014
    solve = _fit_head if spec.pose == "head" else _fit_body
    return solve(layers, spec.foreground, unit, low, high, jitter, level)


def _ratio(layers: list[Layer], frame: Frame) -> float:
    return float(silhouette(layers, frame.resized(_PROBE_PX), _PROBE_PX).mean())


def _fit_body(
    layers: list[Layer],
    wanted: float,
    unit: Frame,
    low: np.ndarray,
    high: np.ndarray,
    jitter: float,
    level: float,
) -> Frame:
    """A whole dog inside the picture; its area goes with scale squared, so one measurement is enough."""
    width, height = high - low
    x_mid, room = (low[0] + high[0]) / 2, 1 - 2 * _BORDER
    largest = room / max(width, height)
    whole = Frame(largest, 0.5 - x_mid * largest, _BORDER - low[1] * largest, unit.flip, unit.angle)
    scale = largest * min(float(np.sqrt(wanted / _ratio(layers, whole))), 1.0)
    x0 = 0.5 - x_mid * scale + jitter * (room - width * scale) / 2
    feet = 0.97 - 0.09 * level if scale * height > 0.55 else 0.72 + 0.2 * level
    highest, lowest = _BORDER - low[1] * scale, 1 - _BORDER / 2 - high[1] * scale
    return Frame(scale, x0, float(np.clip(feet, highest, max(highest, lowest))), unit.flip, unit.angle)


def _fit_head(
    layers: list[Layer],
    wanted: float,
    unit: Frame,
    low: np.ndarray,
    high: np.ndarray,
    jitter: float,
    level: float,
) -> Frame:
    """Head and shoulders, cut off by the lower edge, so the area is found by iteration."""
    width = high[0] - low[0]
    x_mid, scale = (low[0] + high[0]) / 2, 0.75 / width
    frame = unit
    for _ in range(3):
        x0 = 0.5 - x_mid * scale + jitter * 0.06
        frame = Frame(scale, x0, 0.98 - 0.07 * level, unit.flip, unit.angle)
        scale = min(scale * float(np.sqrt(wanted / _ratio(layers, frame))), 1.15 / width)
    return frame
