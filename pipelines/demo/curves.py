"""Closed outlines from a few control points: the only geometry a drawn dog is made of.

All points are (x, y) pairs in dog units (one unit is about a dog's body length), x to the right and y down.
Every function returns a polygon (N,2) float64.
"""

import numpy as np

Polygon = np.ndarray  # (N,2) float64


def smooth(points: list[tuple[float, float]], steps: int = 6) -> Polygon:
    """Closed Catmull-Rom curve through the control points: (len(points) * steps, 2).

    P(u) = .5 (2 p1 + (p2 - p0) u + (2 p0 - 5 p1 + 4 p2 - p3) u^2 + (3 p1 - p0 - 3 p2 + p3) u^3).
    """
    p1 = np.asarray(points, np.float64)
    p0, p2, p3 = np.roll(p1, 1, 0), np.roll(p1, -1, 0), np.roll(p1, -2, 0)
    u = (np.arange(steps) / steps)[None, :, None]
    p0, p1, p2, p3 = (p[:, None, :] for p in (p0, p1, p2, p3))
    curve = 0.5 * (
        2 * p1 + (p2 - p0) * u + (2 * p0 - 5 * p1 + 4 * p2 - p3) * u**2 + (3 * p1 - p0 - 3 * p2 + p3) * u**3
    )
    return curve.reshape(-1, 2)


def ellipse(cx: float, cy: float, rx: float, ry: float, angle: float = 0.0, steps: int = 28) -> Polygon:
    """An ellipse with half axes rx and ry, turned by `angle` radians."""
    phi = np.linspace(0, 2 * np.pi, steps, endpoint=False)
    x, y = rx * np.cos(phi), ry * np.sin(phi)
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([cx + c * x - s * y, cy + s * x + c * y], 1)


def stroke(path: np.ndarray | list[tuple[float, float]], widths: list[float]) -> Polygon:
    """A limb along `path` (M,2): half widths are interpolated from `widths`, both ends are round."""
    path = np.asarray(path, np.float64)
    at = np.arange(len(path)) * ((len(widths) - 1) / (len(path) - 1))
    half = np.interp(at, np.arange(len(widths)), widths)[:, None]
    along = np.concatenate([path[1:2] - path[:1], path[2:] - path[:-2], path[-1:] - path[-2:-1]])
    along /= np.sqrt((along * along).sum(1, keepdims=True)) + 1e-9
    across = np.stack([-along[:, 1], along[:, 0]], 1)
    cap = np.linspace(-np.pi / 2, np.pi / 2, 7)[1:-1, None]
    tip = path[-1] + half[-1] * (np.cos(cap) * along[-1] - np.sin(cap) * across[-1])
    root = path[0] + half[0] * (-np.cos(cap) * along[0] + np.sin(cap) * across[0])
    return np.concatenate([path + half * across, tip, (path - half * across)[::-1], root])


def bend(points: list[tuple[float, float]], steps: int = 8) -> Polygon:
    """Open Catmull-Rom curve through the control points, ends included."""
    p = np.asarray(points, np.float64)
    p = np.concatenate([2 * p[:1] - p[1:2], p, 2 * p[-1:] - p[-2:-1]])
    closed = smooth([(float(x), float(y)) for x, y in p], steps)
    return closed[steps : steps * (len(p) - 2) + 1]


def place(polygon: Polygon, x: float, y: float, scale: float = 1.0, angle: float = 0.0) -> Polygon:
    """The polygon scaled about the origin, turned by `angle` radians (clockwise), moved to (x, y)."""
    c, s = np.cos(angle) * scale, np.sin(angle) * scale
    return polygon @ np.array([[c, s], [-s, c]]) + (x, y)


def resample(polygon: Polygon, spacing: float) -> tuple[Polygon, Polygon]:
    """Points every `spacing` along the closed outline, and the outward unit normals there."""
    closed = np.concatenate([polygon, polygon[:1]])
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
    count = max(int(length[-1] / spacing), 6)
    at = np.arange(count) * length[-1] / count
    points = np.stack([np.interp(at, length, closed[:, i]) for i in (0, 1)], 1)
    along = np.roll(points, -1, 0) - np.roll(points, 1, 0)
    normal = np.stack([along[:, 1], -along[:, 0]], 1)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True) + 1e-9
    x, y = points[:, 0], points[:, 1]
    area = np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)
    return points, normal if area > 0 else -normal
