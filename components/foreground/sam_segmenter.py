"""SAM answering prompts: the encoder runs on batches of pictures, the decoder on each prompt.

Choice of the mask: SAM answers a prompt with three nested masks and a guess of each one's IoU; the best guess
among those that are not empty is taken. Largest area is not used, for it picks the background.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import cv2
import numpy as np
import torch
from segment_anything.modeling import Sam
from segment_anything.utils.transforms import ResizeLongestSide

from components.foreground.grid import union_of_subjects
from components.foreground.policy import SPECK_SHARE
from components.foreground.prompts import BoxPrompt, GridPrompt, PointPrompt, Prompt
from components.foreground.segmenter import Mask
from components.model.cores import Cores
from components.model.device import pick_device, pick_dtype, precision
from components.model.published import SAM
from components.model.sam import load_sam
from components.model.weights import resolve


@dataclass(frozen=True)
class _Frame:
    """Sizes (height, width) of a picture: as given, and as SAM's square input holds it at its top left."""

    original: tuple[int, int]
    inner: tuple[int, int]


class SamSegmenter:
    """Answers prompts with a SAM network. Safe to call from many threads.

    encoder_batch: pictures in the encoder at a time, on all cores together; it changes speed and memory, not
    the masks (beyond rounding).
    """

    def __init__(
        self,
        network: Sam,
        *,
        device: str = "auto",
        dtype: str = "auto",
        encoder_batch: int = 4,
    ):
        self.device = pick_device(device)
        self.dtype = pick_dtype(dtype, self.device)
        self.network = network.to(self.device).eval()
        self.encoder_batch = max(1, encoder_batch)
        self._cores = Cores(self.device)
        self._resize = ResizeLongestSide(network.image_encoder.img_size)

    def segment(self, images: Sequence[np.ndarray], prompts: Sequence[Sequence[Prompt]]) -> list[list[Mask]]:
        """One mask a prompt for each picture; see Segmenter. Raises ValueError for bad shapes."""
        if len(images) != len(prompts):
            raise ValueError(f"{len(images)} pictures and {len(prompts)} lists of prompts do not pair up.")
        for index, image in enumerate(images):
            self._check(index, image)
        parts = self._cores.parts(len(images), self.encoder_batch)
        found = self._cores.map(lambda part: self._segment(images[part], prompts[part]), parts)
        return [masks for answers in found for masks in answers]

    @torch.inference_mode()
    def _segment(self, images: Sequence[np.ndarray], prompts: Sequence[Sequence[Prompt]]) -> list[list[Mask]]:
        """`segment` of pictures that go through the encoder together."""
        inputs = [self._input(image) for image in images]
        embeddings = self._encode(inputs)
        answers = []
        for index, (image, pixels) in enumerate(zip(images, inputs, strict=True)):
            frame = _Frame(image.shape[:2], (pixels.shape[-2], pixels.shape[-1]))
            embedding = embeddings[index : index + 1]
            answers.append([self._answer(embedding, frame, prompt) for prompt in prompts[index]])
        return answers

    def _check(self, index: int, image: np.ndarray) -> None:
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
            raise ValueError(f"Picture {index} is {image.dtype} {image.shape}; SAM needs uint8 (H,W,3).")
        if 0 in self._resize.get_preprocess_shape(*image.shape[:2], self._resize.target_length):
            raise ValueError(
                f"Picture {index} is {image.shape[1]} x {image.shape[0]} px, too thin for a model that sees "
                f"{self._resize.target_length} px along its long side."
            )

    def _input(self, image: np.ndarray) -> torch.Tensor:
        """(3, h, w) uint8 with SAM's long side, resized by segment_anything itself."""
        return torch.from_numpy(self._resize.apply_image(image)).permute(2, 0, 1)

    def _encode(self, inputs: Sequence[torch.Tensor]) -> torch.Tensor:
        """Padded, normalised and encoded: (N, C, grid, grid) float32."""
        batch = torch.stack([self.network.preprocess(pixels.to(self.device)) for pixels in inputs])
        with precision(self.device, self.dtype):
            return self.network.image_encoder(batch).float()

    def _answer(self, embedding: torch.Tensor, frame: _Frame, prompt: Prompt) -> Mask:
        if isinstance(prompt, GridPrompt):
            return self._answer_grid(embedding, frame, prompt)
        logits, ious = self._decode(embedding, *self._sparse(frame, prompt))
        return self._best(logits[0], ious[0], frame)

    def _best(self, logits: torch.Tensor, ious: torch.Tensor, frame: _Frame) -> Mask:
        """The non-empty mask of highest predicted IoU of (M, h, w); an empty one when all are."""
        for index in ious.argsort(descending=True).tolist():
            full = self.network.postprocess_masks(
                logits[None, index : index + 1], frame.inner, frame.original
            )
            pixels = (full[0, 0] > self.network.mask_threshold).cpu().numpy()
            if pixels.any():
                return Mask(without_specks(pixels), float(ious[index]))
        return Mask(np.zeros(frame.original, bool), 0.0)

    def _answer_grid(self, embedding: torch.Tensor, frame: _Frame, prompt: GridPrompt) -> Mask:
        logits, iou = union_of_subjects(
            partial(self._decode_points, embedding, frame), prompt.points_per_side
        )
        # The union holds the picture's part only, so it is scaled straight to the picture.
        full = torch.nn.functional.interpolate(logits[None, None], frame.original, mode="bilinear")[0, 0]
        return Mask(without_specks((full > self.network.mask_threshold).cpu().numpy()), iou)

    def _decode_points(
        self, embedding: torch.Tensor, frame: _Frame, fractions: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        height, width = frame.inner
        points = (fractions * torch.tensor([width, height]))[:, None].to(self.device)
        labels = torch.ones(points.shape[:2], dtype=torch.int, device=self.device)
        logits, ious = self._decode(embedding, (points, labels), None)
        scale = logits.shape[-1] / self.network.image_encoder.img_size
        return logits[..., : max(1, round(height * scale)), : max(1, round(width * scale))], ious

    def _sparse(
        self, frame: _Frame, prompt: BoxPrompt | PointPrompt
    ) -> tuple[tuple[torch.Tensor, torch.Tensor] | None, torch.Tensor | None]:
        """Points with labels, or boxes, in the coordinates of SAM's input."""
        if isinstance(prompt, BoxPrompt):
            box = self._resize.apply_boxes(np.array([prompt.box], np.float64), frame.original)
            return None, torch.as_tensor(box, dtype=torch.float32, device=self.device)
        points = self._resize.apply_coords(np.array([prompt.points], np.float64), frame.original)
        coordinates = torch.as_tensor(points, dtype=torch.float32, device=self.device)
        return (coordinates, torch.ones(coordinates.shape[:2], dtype=torch.int, device=self.device)), None

    def _decode(
        self,
        embedding: torch.Tensor,
        points: tuple[torch.Tensor, torch.Tensor] | None,
        boxes: torch.Tensor | None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits (P, 3, 4 grid, 4 grid) and predicted IoUs (P, 3) of P prompts on one picture."""
        sparse, dense = self.network.prompt_encoder(points=points, boxes=boxes, masks=None)
        return self.network.mask_decoder(
            image_embeddings=embedding,
            image_pe=self.network.prompt_encoder.get_dense_pe(),
            sparse_prompt_embeddings=sparse,
            dense_prompt_embeddings=dense,
            multimask_output=True,
        )


def load_segmenter(
    reference: str, *, device: str = "auto", dtype: str = "auto", encoder_batch: int = 4
) -> SamSegmenter:
    """A SamSegmenter by reference (see components.model.weights); never downloads.

    Raises WeightsError, DeviceError.
    """
    network = load_sam(resolve(reference, SAM).path)
    return SamSegmenter(network, device=device, dtype=dtype, encoder_batch=encoder_batch)


def bf16_drift(segmenter: SamSegmenter, images: Sequence[np.ndarray], prompts: Sequence[Prompt]) -> float:
    """Largest |foreground ratio in bf16 - in fp32| over pictures, one prompt each; 0 for an fp32 model."""
    if segmenter.dtype is torch.float32 or not len(images):
        return 0.0
    exact = SamSegmenter(segmenter.network, device=str(segmenter.device), dtype="fp32")
    lists = [[prompt] for prompt in prompts]
    pairs = zip(segmenter.segment(images, lists), exact.segment(images, lists), strict=True)
    return max(abs(float(a[0].pixels.mean()) - float(b[0].pixels.mean())) for a, b in pairs)


def without_specks(mask: np.ndarray, share: float = SPECK_SHARE) -> np.ndarray:
    """(H, W) bool without islands, and with holes filled, that are below `share` of the mask's area."""
    limit = share * float(np.count_nonzero(mask))
    cleaned = mask
    for value in (True, False):
        count, labels, stats, _ = cv2.connectedComponentsWithStats(
            (cleaned == value).astype(np.uint8), connectivity=8
        )
        areas = stats[:, cv2.CC_STAT_AREA]
        small = [label for label in range(1, count) if areas[label] < limit]
        if small:
            cleaned = np.where(np.isin(labels, small), not value, cleaned)
    return cleaned
