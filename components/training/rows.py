"""The rows of an encoded dataset as the training loop wants them."""

import numpy as np
import torch

from components.data.encoded import EMPTY_TEXT_ID, EncodedDataset, breed_positions
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
        """Pictures, text states and breeds of rows."""
        states = self._dataset.text_states([self._texts[i] for i in indices])
        text = stack_states([torch.from_numpy(state.astype(np.float32)) for state in states])
        return Batch(
            images=torch.from_numpy(self._dataset.samples(self._rows[indices]).copy()),
            hidden=text.hidden,
            mask=text.mask,
            breed=torch.from_numpy(self.breed[indices]),
        )
