"""Places: six for the demo set and two that are kept for testing the segmenter.

Each is muted and leaves part of the frame near neutral (sky, wall, pavement), as a photo's does, so that a
colour cast over the whole picture stands out in the colour-shift score.
"""

from collections.abc import Callable

import cv2
import numpy as np

from pipelines.demo.palettes import Color

Paint = Callable[[int, np.random.Generator], np.ndarray]


def noise(size_px: int, cell: float, rng: np.random.Generator, stretch: float = 1.0) -> np.ndarray:
    """Smooth noise (H,W) float32 in about -1..1; features are cell * size pixels, `stretch` times wider."""
    rows = max(int(1 / cell), 2)
    columns = max(int(1 / cell / stretch), 2)
    grid = rng.uniform(-1, 1, (rows, columns)).astype(np.float32)
    return cv2.resize(grid, (size_px, size_px), interpolation=cv2.INTER_CUBIC)


def split(size_px: int, horizon: float, above: tuple[Color, Color], below: tuple[Color, Color]) -> np.ndarray:
    """Two vertical gradients that meet at `horizon` (fraction of the height): (H,W,3) float32."""
    rows = (np.arange(size_px, dtype=np.float32) + 0.5)[:, None] / size_px
    up = np.clip(rows / horizon, 0, 1)
    down = np.clip((rows - horizon) / (1 - horizon), 0, 1)
    sky = np.array(above[0]) * (1 - up) + np.array(above[1]) * up
    floor = np.array(below[0]) * (1 - down) + np.array(below[1]) * down
    column = np.where(rows < horizon, sky, floor)
    return np.repeat(column[:, None, :], size_px, 1).astype(np.float32)


def _blob(image: np.ndarray, x: float, y: float, rx: float, ry: float, color: Color) -> None:
    n = image.shape[0]
    center, axes = (int(x * n * 16), int(y * n * 16)), (int(rx * n * 16), int(ry * n * 16))
    cv2.ellipse(image, center, axes, 0, 0, 360, color, -1, cv2.LINE_8, 4)


def _studio(size_px: int, rng: np.random.Generator) -> np.ndarray:
    level = rng.uniform(128, 176)
    rows, columns = np.mgrid[0:size_px, 0:size_px].astype(np.float32) / size_px
    x, y = rng.uniform(0.2, 0.8), rng.uniform(0.15, 0.6)
    glow = np.exp(-((columns - x) ** 2 + (rows - y) ** 2) / rng.uniform(0.2, 0.5))
    gray = level + rng.uniform(14, 38) * glow - 10 * np.clip(rows - 0.8, 0, 1)
    return np.repeat(gray[..., None], 3, 2)


def _grass(size_px: int, rng: np.random.Generator) -> np.ndarray:
    horizon = rng.uniform(0.42, 0.6)
    image = split(size_px, horizon, ((196, 204, 210), (222, 224, 222)), ((118, 142, 88), (92, 120, 66)))
    for _ in range(int(rng.integers(3, 7))):
        tree = (
            rng.uniform(0, 1),
            horizon - rng.uniform(0.0, 0.06),
            rng.uniform(0.08, 0.2),
            rng.uniform(0.06, 0.2),
        )
        tone = rng.uniform(0.85, 1.15)
        _blob(image[: int(horizon * size_px)], *tree, (int(98 * tone), int(118 * tone), int(92 * tone)))
    rows = slice(int(horizon * size_px), size_px)
    image[rows] *= 1 + 0.12 * noise(size_px, 0.02, rng, 0.4)[rows, :, None]
    image[rows] *= 1 + 0.08 * noise(size_px, 0.2, rng, 2)[rows, :, None]
    return image


def _beach(size_px: int, rng: np.random.Generator) -> np.ndarray:
    horizon = rng.uniform(0.32, 0.46)
    shore = rng.uniform(0.56, 0.68)
    image = split(size_px, horizon, ((184, 198, 212), (220, 224, 226)), ((116, 146, 164), (150, 174, 182)))
    edge = shore + 0.025 * noise(size_px, 0.3, rng)[0]
    rows = np.arange(size_px)[:, None] / size_px
    sand = rows > edge[None, :]
    tone = np.array([208, 199, 184], np.float32) * (1 - 0.12 * np.clip(rows - shore, 0, 1))[..., None]
    image = np.where(sand[..., None], tone * (1 + 0.05 * noise(size_px, 0.015, rng)[..., None]), image)
    foam = np.abs(rows - edge[None, :]) < 0.012
    image[foam] = (240, 242, 240)
    sea = (rows > horizon) & ~sand
    waves = 1 + 0.07 * noise(size_px, 0.02, rng, 8)
    return np.where(sea[..., None], image * waves[..., None], image)


def _indoor(size_px: int, rng: np.random.Generator) -> np.ndarray:
    horizon = rng.uniform(0.56, 0.7)
    wall = rng.uniform(0.92, 1.04)
    colors: tuple[Color, Color] = (
        (int(196 * wall), int(193 * wall), int(188 * wall)),
        (int(208 * wall), int(205 * wall), int(200 * wall)),
    )
    image = split(size_px, horizon, colors, ((152, 124, 98), (132, 104, 80)))
    n = size_px
    y0 = int(horizon * n)
    for plank in np.linspace(-1, 2, 19):
        x_top, x_low = int((0.5 + (plank - 0.5) * 0.8) * n), int((0.5 + (plank - 0.5) * 1.6) * n)
        cv2.line(image, (x_top, y0), (x_low, n), (108, 84, 64), max(n // 160, 1))
    cv2.rectangle(image, (0, y0 - n // 40), (n, y0), (226, 222, 214), -1)
    left = float(rng.choice([rng.uniform(0.03, 0.16), rng.uniform(0.58, 0.72)]))
    top, w, h = rng.uniform(0.04, 0.12), rng.uniform(0.2, 0.28), rng.uniform(0.24, 0.34)
    box = [int(v * n) for v in (left, top, left + w, top + h)]
    cv2.rectangle(image, (box[0], box[1]), (box[2], box[3]), (238, 236, 230), -1)
    pad = max(n // 50, 1)
    inside: Color = (176, 196, 210) if rng.random() < 0.5 else (168, 156, 150)
    cv2.rectangle(image, (box[0] + pad, box[1] + pad), (box[2] - pad, box[3] - pad), inside, -1)
    cv2.line(image, ((box[0] + box[2]) // 2, box[1]), ((box[0] + box[2]) // 2, box[3]), (238, 236, 230), pad)
    rug: Color = ((150, 126, 124), (118, 126, 140), (138, 134, 128))[int(rng.integers(3))]
    _blob(image, rng.uniform(0.35, 0.65), 0.93, 0.42, 0.085, rug)
    return image


def _snow(size_px: int, rng: np.random.Generator) -> np.ndarray:
    horizon = rng.uniform(0.4, 0.56)
    image = split(size_px, horizon, ((168, 180, 194), (206, 212, 218)), ((228, 231, 236), (214, 219, 227)))
    for _ in range(int(rng.integers(3, 7))):
        x, h = rng.uniform(0, 1), rng.uniform(0.14, 0.34)
        tip, half, y = (horizon - h), h * 0.3, horizon + 0.01
        corners = np.array([(x, tip), (x - half, y), (x + half, y)]) * size_px
        cv2.fillPoly(image, [corners.astype(np.int32)], (92, 112, 108))
    rows = slice(int(horizon * size_px), size_px)
    image[rows] *= 1 + 0.03 * noise(size_px, 0.15, rng, 2)[rows, :, None]
    for x, y in rng.random((60, 2)):
        _blob(image, x, y, 0.006, 0.006, (246, 248, 250))
    return image


def _street(size_px: int, rng: np.random.Generator) -> np.ndarray:
    horizon = rng.uniform(0.5, 0.64)
    image = split(size_px, horizon, ((138, 122, 117), (150, 132, 126)), ((150, 150, 152), (128, 128, 131)))
    n, y0 = size_px, int(horizon * size_px)
    brick = max(int(n * 0.05), 3)
    shift = int(rng.integers(brick * 2))
    for row, y in enumerate(range(0, y0, brick)):
        cv2.line(image, (0, y), (n, y), (178, 171, 167), 1)
        for x in range(-shift + (row % 2) * brick, n, brick * 2):
            cv2.line(image, (x, y), (x, min(y + brick, y0)), (178, 171, 167), 1)
    cv2.rectangle(image, (0, y0), (n, y0 + n // 24), (176, 176, 174), -1)
    below = slice(y0, n)
    image[below] *= 1 + 0.05 * noise(n, 0.012, rng)[below, :, None]
    for x in np.linspace(-0.5, 1.5, 7) + rng.uniform(-0.1, 0.1):
        cv2.line(
            image,
            (int((0.5 + (x - 0.5) * 0.7) * n), y0 + n // 24),
            (int((0.5 + (x - 0.5) * 1.5) * n), n),
            (112, 112, 114),
            1,
        )
    return image


def _autumn(size_px: int, rng: np.random.Generator) -> np.ndarray:
    horizon = rng.uniform(0.45, 0.6)
    image = split(size_px, horizon, ((206, 206, 200), (214, 204, 186)), ((150, 124, 88), (126, 98, 66)))
    for _ in range(8):
        x = rng.uniform(0, 1)
        w = rng.uniform(0.012, 0.03)
        cv2.rectangle(
            image,
            (int((x - w) * size_px), 0),
            (int((x + w) * size_px), int(horizon * size_px)),
            (98, 82, 70),
            -1,
        )
    leaves: tuple[Color, ...] = ((188, 120, 62), (172, 92, 56), (196, 158, 84), (120, 96, 66))
    for x, y in rng.random((130, 2)) * (1, 1 - horizon) + (0, horizon):
        r = rng.uniform(0.008, 0.018)
        _blob(image, x, y, r, r * 0.7, leaves[int(rng.integers(4))])
    return image


def _deck(size_px: int, rng: np.random.Generator) -> np.ndarray:
    horizon = rng.uniform(0.36, 0.5)
    image = split(size_px, horizon, ((120, 150, 150), (156, 178, 172)), ((166, 158, 148), (150, 140, 128)))
    n, y = size_px, horizon * size_px
    step = n * 0.03
    while y < n:
        cv2.line(image, (0, int(y)), (n, int(y)), (108, 100, 92), max(n // 120, 1))
        y, step = y + step, step * 1.25
    for x in np.arange(-0.02, 1.05, 0.13) + rng.uniform(0, 0.08):
        cv2.rectangle(
            image,
            (int(x * n), int((horizon - 0.22) * n)),
            (int((x + 0.03) * n), int(horizon * n)),
            (222, 218, 210),
            -1,
        )
    cv2.rectangle(image, (0, int((horizon - 0.25) * n)), (n, int((horizon - 0.21) * n)), (228, 224, 216), -1)
    return image


_PAINTERS: dict[str, Paint] = {
    "studio": _studio,
    "grass": _grass,
    "beach": _beach,
    "indoor": _indoor,
    "snow": _snow,
    "street": _street,
    "autumn": _autumn,
    "deck": _deck,
}


def background(name: str, size_px: int, rng: np.random.Generator) -> np.ndarray:
    """The empty place `name`: (size_px, size_px, 3) float32 in 0..255."""
    image = np.ascontiguousarray(_PAINTERS[name](size_px, rng), np.float32)
    if rng.random() < 0.5:
        image = np.ascontiguousarray(image[:, ::-1])
    return shadows(image, 0.12 if name == "studio" else 0.2, rng)


def shadows(image: np.ndarray, uneven: float, rng: np.random.Generator) -> np.ndarray:
    """Uneven light over a place (H,W,3), so that two photos of one place differ at large scale."""
    size_px = len(image)
    shade = noise(size_px, 0.27, rng) + 0.7 * noise(size_px, 0.15, rng)
    light = 1 + uneven * cv2.GaussianBlur(shade, (0, 0), size_px * 0.03)
    return image * (light * np.float32(rng.uniform(0.92, 1.06)))[..., None]
