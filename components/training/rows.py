"""The rows of an encoded dataset as the training loop wants them."""

import numpy as np
import torch
from torch import Tensor

from components.data.encoded import EMPTY_TEXT_ID, EncodedDataset, breed_positions
from components.model.autoencoder import pixels_to_samples
from components.model.text import stack_states
from components.training.batches import Batch


class EncodedRows:
    """One split of an encoded dataset.

    text: "caption" or "prompt". breeds: the model's breed list; a row of another breed, or of none, counts as
    the null breed. Text states come padded to the longest of the batch.
    """

    def __init__(self, dataset: EncodedDataset, text: str, breeds: list[str], split: str = "train") -> None:
        rows = dataset.rows_of_split(split)
        index = dataset.index.take(rows)
        self._dataset = dataset
        self._rows = rows
        self._texts: list[str] = index.column(f"{text}_id").to_pylist()
        self.breed = breed_positions(index.column("breed").to_pylist(), breeds)
        self.tiers = np.asarray(index.column("tier")).astype(np.int8)
        self.null_text = torch.from_numpy(dataset.text_states([EMPTY_TEXT_ID])[0].astype(np.float32))

    def __len__(self) -> int:
        return len(self._rows)

    def load(self, indices: np.ndarray) -> Batch:
        """Samples, text states and breeds of rows."""
        states = self._dataset.text_states([self._texts[i] for i in indices])
        text = stack_states([torch.from_numpy(state.astype(np.float32)) for state in states])
        samples, mirrored = self._samples(self._rows[indices])
        breed = torch.from_numpy(self.breed[indices])
        return Batch(samples, hidden=text.hidden, mask=text.mask, breed=breed, mirrored=mirrored)

    def _samples(self, rows: np.ndarray) -> tuple[Tensor, Tensor | None]:
        if self._dataset.latents_policy is None:
            return pixels_to_samples(torch.from_numpy(self._dataset.samples(rows).copy())), None
        both = [self._dataset.latents(rows, mirrored=mirrored) for mirrored in (False, True)]
        straight, mirrored = (torch.from_numpy(latents.astype(np.float32)) for latents in both)
        return straight, mirrored
