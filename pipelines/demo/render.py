"""A picture of a synthetic dog with its exact mask: seeded, vector-like, a few milliseconds.

picture = alpha * dog + (1 - alpha) * background, then grain; the mask is alpha >= .5. So outside the dog the
picture is the background of the same spec, which the tests check.
"""

from dataclasses import dataclass

import cv2
import numpy as np

from pipelines.demo.anatomy import dog
from pipelines.demo.backgrounds import background
from pipelines.demo.canvas import paint
from pipelines.demo.framing import fit
from pipelines.demo.spec import DogSpec


@dataclass(frozen=True)
class Scene:
    """What a picture is composed of. background, dog (H,W,3) float32 in 0..255 (dog premultiplied by alpha);
    alpha (H,W) float32 in 0..1; grain (H,W) float32, added to every channel."""

    background: np.ndarray
    dog: np.ndarray
    alpha: np.ndarray
    grain: np.ndarray

    def picture(self) -> np.ndarray:
        """(H,W,3) uint8 sRGB."""
        mixed = self.dog + (1 - self.alpha)[..., None] * self.background + self.grain[..., None]
        return np.clip(np.round(mixed), 0, 255).astype(np.uint8)

    def mask(self) -> np.ndarray:
        """(H,W) bool: where the dog covers at least half of the pixel."""
        return self.alpha >= 0.5


def render(spec: DogSpec, size_px: int) -> tuple[np.ndarray, np.ndarray]:
    """The picture (size_px, size_px, 3) uint8 sRGB, and the dog's mask (size_px, size_px) bool."""
    scene = compose(spec, size_px)
    return scene.picture(), scene.mask()


def compose(spec: DogSpec, size_px: int, supersampling: int = 0) -> Scene:
    """The parts of the picture of `spec`. `supersampling` 0: 3 below 160 px, else 2."""
    # One stream a part: a change in how one part draws does not shift the others' jitter.
    shape_rng, place_rng, back_rng, light_rng = (
        np.random.default_rng([spec.seed, stream]) for stream in range(4)
    )
    layers = dog(spec, shape_rng)
    frame = fit(layers, spec, place_rng).resized(size_px)
    factor = supersampling or (3 if size_px < 160 else 2)
    color, alpha = paint(layers, frame, size_px, factor)
    place = background(spec.background, size_px, back_rng)
    if spec.pose != "head":
        place *= (1 - 0.34 * _shadow(alpha, frame.y0, size_px))[..., None]
    color *= _light(alpha, spec.coat, light_rng)[..., None]
    grain = light_rng.normal(0, 2.2, (size_px, size_px)).astype(np.float32)
    return Scene(place, color, alpha, grain)


def _shadow(alpha: np.ndarray, ground_px: float, size_px: int) -> np.ndarray:
    """A soft contact shadow under the dog: (H,W) float32 in 0..1."""
    columns = alpha[int(max(ground_px - size_px * 0.3, 0)) :].max(0)
    flat = np.zeros_like(alpha)
    half = max(size_px * 0.022, 1.0)
    rows = np.abs(np.arange(size_px) - ground_px) < half
    flat[rows] = columns
    return cv2.GaussianBlur(flat, (0, 0), size_px * 0.022)


def _light(alpha: np.ndarray, coat: str, rng: np.random.Generator) -> np.ndarray:
    """Brightness of the dog's surface: light from above on a rounded body, and the coat's fine texture."""
    n = alpha.shape[0]
    height = cv2.GaussianBlur(alpha, (0, 0), n * 0.04)
    slope_y = cv2.Sobel(height, cv2.CV_32F, 0, 1, ksize=3) * n * 0.05
    slope_x = cv2.Sobel(height, cv2.CV_32F, 1, 0, ksize=3) * n * 0.05
    side = rng.uniform(-0.5, 0.5)
    light = 1.0 + 0.1 * np.clip(slope_y + side * slope_x, -1.6, 1.2)
    fine = rng.normal(0, 1, (n, n)).astype(np.float32)
    if coat == "long":
        fine = cv2.blur(fine, (1, max(n // 24, 3))) * 1.7
    elif coat == "curly":
        fine = cv2.GaussianBlur(fine, (0, 0), max(n * 0.011, 0.8)) * 3.0
    return light * (1 + 0.022 * fine) * rng.uniform(0.96, 1.04)
