"""What the foreground step asks of any segmenter, and SAM as one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from components.foreground.options import ForegroundOptions
from components.foreground.policy import sam_policy
from components.foreground.prompts import Prompt
from components.model.policy import arithmetic
from components.model.published import SAM
from components.model.weights import resolve

if TYPE_CHECKING:
    from components.foreground.sam_segmenter import SamSegmenter


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


class Sam:
    """The Segmenter of the step's options. Raises WeightsError when the model is not on this machine."""

    def __init__(self, options: ForegroundOptions):
        self._options = options
        weights = resolve(options.model, SAM)
        self.policy = sam_policy(weights, arithmetic(options.dtype, options.device))

    @cached_property
    def _loaded(self) -> "SamSegmenter":
        # Slow to import and to load, which stored masks save.
        from components.foreground.sam_segmenter import load_segmenter

        options = self._options
        return load_segmenter(
            options.model, device=options.device, dtype=options.dtype, encoder_batch=options.batch_size
        )

    def segment(self, images: Sequence[np.ndarray], prompts: Sequence[Sequence[Prompt]]) -> list[list[Mask]]:
        """See Segmenter; loads the model when first asked."""
        return self._loaded.segment(images, prompts)
