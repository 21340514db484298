"""An autoencoder's latents of the training pictures, stored beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from components.data.schema import arrow_schema
from components.encoding.options import EncodingOptions
from components.model.policy import autoencoder_policy
from components.model.published import AUTOENCODER
from components.model.weights import resolve

if TYPE_CHECKING:
    from components.model.autoencoder import Autoencoder

LATENT_COLUMNS = ["latents", "latents_mirrored"]
_PICTURES_AT_A_TIME = 8


class Latents:
    """`policy` says what of the autoencoder changes them, and their shape. Its weights are loaded late.

    Raises WeightsError when the autoencoder is not there, ValueError for pictures it cannot halve.
    """

    def __init__(self, options: EncodingOptions) -> None:
        self._options = options
        self._weights = resolve(options.autoencoder, AUTOENCODER)
        self.policy = autoencoder_policy(self._weights, options.size_px)
        self._autoencoder: Autoencoder | None = None

    def added_to(self, table: pa.Table) -> pa.Table:
        """`table` (image_id, pixels, ...) with LATENT_COLUMNS. Rows without finite ones are left out.

        The mirrored picture is encoded too: mirroring a latent does not give the latent of the mirrored one.
        """
        size = self._options.size_px
        rows, latents, mirrored = [], [], []
        for start in range(0, table.num_rows, _PICTURES_AT_A_TIME):
            part = table.slice(start, _PICTURES_AT_A_TIME)
            data = b"".join(part.column("pixels").to_pylist())
            pictures = np.frombuffer(data, np.uint8).reshape(-1, size, size, 3)
            both = self._encode(np.concatenate([pictures, pictures[:, :, ::-1]]))
            for row in range(len(pictures)):
                pair = both[row], both[row + len(pictures)]
                if not all(np.isfinite(latent).all() for latent in pair):
                    image_id = part.column("image_id")[row].as_py()
                    print(f"encoding leaves out {image_id}: its latents are not finite", flush=True)
                    continue
                rows.append(start + row)
                latents.append(pair[0].tobytes())
                mirrored.append(pair[1].tobytes())
        out = table.take(pa.array(rows, pa.int64()))
        for name, values in zip(LATENT_COLUMNS, (latents, mirrored), strict=True):
            out = out.append_column(name, pa.array(values, pa.large_binary()))
        return out.cast(arrow_schema(out.column_names))

    def _encode(self, pictures: np.ndarray) -> np.ndarray:
        """(B, H, W, 3) uint8 -> (B, C, h, w) float16; what float16 cannot hold becomes infinite."""
        # Slow to import and to load, which stored latents save.
        import torch

        from components.model.autoencoder import load_autoencoder
        from components.model.device import pick_device

        if self._autoencoder is None:
            self._autoencoder = load_autoencoder(self._weights, pick_device(self._options.device))
        return self._autoencoder.encode(torch.from_numpy(np.ascontiguousarray(pictures))).half().numpy()
