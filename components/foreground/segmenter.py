"""What the foreground step asks of any segmenter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from components.foreground.prompts import Prompt


@dataclass(frozen=True)
class Mask:
    """The answer to one prompt. pixels: (H, W) bool, as large as the picture; predicted_iou: a guess.

    An empty mask (no pixel set) means that nothing was found.
    """

    pixels: np.ndarray
    predicted_iou: float


class Segmenter(Protocol):
    """Anything that answers prompts with masks: SAM, or a stand-in that knows the truth."""

    @property
    def policy(self) -> Mapping[str, Any]:
        """Everything that changes a mask: weights, arithmetic, preprocessing, choice of the mask."""

    def segment(self, images: Sequence[np.ndarray], prompts: Sequence[Sequence[Prompt]]) -> list[list[Mask]]:
        """Pictures (H,W,3) uint8 sRGB, and for each its prompts -> for each picture one mask a prompt."""
