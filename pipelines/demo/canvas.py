"""Paints layers of polygons at a multiple of the picture's size and averages down (area supersampling)."""

from dataclasses import dataclass, field

import cv2
import numpy as np

from pipelines.demo.curves import Polygon
from pipelines.demo.palettes import Color

_SHIFT = 4  # polygon corners are given to OpenCV in 1/16 of a pixel


@dataclass
class Layer:
    """A group of shapes under one outline.

    `shapes` make the silhouette. `marks` are painted on top of it and clipped to it. In both a polygon is
    (N,2), or (K,N,2) for K convex ones. `details` (eyes, nose, mouth lines) are painted last, unclipped but
    expected to lie inside; (path, color, width) with width 0 fills the polygon and any other draws an open
    line of that width in dog units.
    """

    outline: Color
    outline_width: float = 0.014
    shapes: list[tuple[Polygon, Color]] = field(default_factory=list)
    marks: list[tuple[Polygon, Color]] = field(default_factory=list)
    details: list[tuple[Polygon, Color, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Frame:
    """Dog units to pixels: pixel = R(angle) (flip * x, y) * scale + (x0, y0)."""

    scale: float
    x0: float
    y0: float
    flip: float = 1.0
    angle: float = 0.0

    def resized(self, factor: float) -> "Frame":
        """The same view of a picture whose sides are `factor` times as long."""
        return Frame(self.scale * factor, self.x0 * factor, self.y0 * factor, self.flip, self.angle)

    def transform(self, polygon: Polygon) -> np.ndarray:
        """The same shape in pixels, float64."""
        c, s = np.cos(self.angle) * self.scale, np.sin(self.angle) * self.scale
        return polygon @ np.array([[self.flip * c, self.flip * s], [-s, c]]) + (self.x0, self.y0)

    def to_pixels(self, polygon: Polygon) -> np.ndarray:
        """The same shape, int32 in 1/16 pixels."""
        return np.rint(self.transform(polygon) * (1 << _SHIFT)).astype(np.int32)


def silhouette(layers: list[Layer], frame: Frame, size_px: int) -> np.ndarray:
    """The union of all shapes with their outlines: (size_px, size_px) uint8, 0 or 1."""
    mask = np.zeros((size_px, size_px), np.uint8)
    for layer in layers:
        points = [frame.to_pixels(polygon) for polygon, _ in layer.shapes]
        for polygon in points:
            _fill(mask, polygon, 1)
        _edge(mask, points, 1, layer.outline_width, frame)
    return mask


def paint(
    layers: list[Layer], frame: Frame, size_px: int, supersampling: int
) -> tuple[np.ndarray, np.ndarray]:
    """Colour premultiplied by coverage (H,W,3) float32 in 0..255, and coverage (H,W) float32 in 0..1."""
    big = size_px * supersampling
    fine = frame.resized(supersampling)
    color = np.zeros((big, big, 3), np.uint8)
    covered = np.zeros((big, big), np.uint8)
    for layer in layers:
        _paint_layer(color, covered, layer, fine)
    np.copyto(color, np.uint8(0), where=covered[..., None] == 0)
    small = cv2.resize(color.astype(np.float32), (size_px, size_px), interpolation=cv2.INTER_AREA)
    alpha = cv2.resize(covered.astype(np.float32), (size_px, size_px), interpolation=cv2.INTER_AREA)
    return small, alpha


def _paint_layer(color: np.ndarray, covered: np.ndarray, layer: Layer, frame: Frame) -> None:
    points = [frame.to_pixels(polygon) for polygon, _ in layer.shapes]
    _edge(color, points, layer.outline, layer.outline_width, frame)
    _edge(covered, points, 1, layer.outline_width, frame)
    for polygon, (_, fill) in zip(points, layer.shapes, strict=True):
        _fill(color, polygon, fill)
        _fill(covered, polygon, 1)
    if layer.marks:
        _paint_marks(color, points, layer, frame)
    for path, fill, line in layer.details:
        polygon = frame.to_pixels(path)
        if line:
            thick = max(round(line * frame.scale), 1)
            cv2.polylines(color, [polygon], False, fill, thick, shift=_SHIFT)
        else:
            cv2.fillPoly(color, [polygon], fill, shift=_SHIFT)


def _fill(image: np.ndarray, polygon: np.ndarray, value: Color | int) -> None:
    """One polygon (N,2), or K convex ones (K,N,2), which may overlap."""
    if polygon.ndim == 2:
        cv2.fillPoly(image, [polygon], value, shift=_SHIFT)
    else:
        for part in polygon:
            cv2.fillConvexPoly(image, part, value, shift=_SHIFT)


def _edge(
    image: np.ndarray, points: list[np.ndarray], value: Color | int, width: float, frame: Frame
) -> None:
    """The outline, `width` dog units to either side of the shapes' edges."""
    thick = max(round(2 * width * frame.scale), 1)
    lines = [line for polygon in points for line in (polygon if polygon.ndim == 3 else [polygon])]
    cv2.polylines(image, lines, True, value, thick, shift=_SHIFT)


def _paint_marks(color: np.ndarray, shapes: list[np.ndarray], layer: Layer, frame: Frame) -> None:
    """Paints the marks on a copy of the layer's part of the picture; keeps what lies inside the shapes."""
    corners = np.concatenate([polygon.reshape(-1, 2) for polygon in shapes]) >> _SHIFT
    x0, y0 = np.maximum(corners.min(0) - 1, 0)
    x1, y1 = np.minimum(corners.max(0) + 2, color.shape[0])
    if x1 <= x0 or y1 <= y0:
        return
    origin = np.array([x0, y0], np.int32) << _SHIFT
    clip = np.zeros((y1 - y0, x1 - x0), np.uint8)
    for polygon in shapes:
        _fill(clip, polygon - origin, 1)
    target = color[y0:y1, x0:x1]
    marked = target.copy()
    for polygon, fill in layer.marks:
        _fill(marked, frame.to_pixels(polygon) - origin, fill)
    np.copyto(target, marked, where=clip.astype(bool)[..., None])
