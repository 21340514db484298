"""Sets of small pictures as files: PNG grids to look at, Parquet to compute with."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image


def contact_sheet(images: np.ndarray, columns: int, scale: int = 2, gap_px: int = 2) -> bytes:
    """PNG of (N,H,W,3) uint8 pictures in rows of `columns`, enlarged `scale` times without smoothing."""
    count, height, width, _ = images.shape
    rows = -(-count // columns)
    sheet = np.full(
        (rows * (height * scale + gap_px) + gap_px, columns * (width * scale + gap_px) + gap_px, 3),
        255,
        np.uint8,
    )
    for number, image in enumerate(images):
        y = gap_px + number // columns * (height * scale + gap_px)
        x = gap_px + number % columns * (width * scale + gap_px)
        sheet[y : y + height * scale, x : x + width * scale] = image.repeat(scale, 0).repeat(scale, 1)
    return png(sheet)


def png(image: np.ndarray) -> bytes:
    """PNG of one (H,W,3) uint8 picture."""
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    return buffer.getvalue()


def pictures_to_parquet(images: np.ndarray, columns: Mapping[str, Sequence[Any]]) -> bytes:
    """Parquet with a column `image` of PNG bytes beside the given columns."""
    sink = io.BytesIO()
    table = pa.table({"image": [png(image) for image in images], **columns})
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def pictures_from_parquet(data: bytes) -> tuple[np.ndarray, pa.Table]:
    """(N,H,W,3) uint8 pictures of one size, and the other columns."""
    table = pq.read_table(io.BytesIO(data))
    images = [
        np.asarray(Image.open(io.BytesIO(item)).convert("RGB")) for item in table.column("image").to_pylist()
    ]
    return np.stack(images), table.drop_columns(["image"])
