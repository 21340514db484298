"""Sets of small pictures as files: PNG grids to look at, Parquet to compute with."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from components.data.manifest import Manifest

# Keywords of the PNG text chunks that tell what a picture belongs to, on any copy of it.
LINEAGE_PREFIX = "dogflow:"
LINEAGE_KEYS = ("kind", "id", "parents", "code_version")


def lineage_of(manifest: Manifest) -> dict[str, str]:
    """What a picture of an artifact carries: LINEAGE_KEYS; `parents` are ids with commas between."""
    return {
        "kind": manifest.kind,
        "id": manifest.id,
        "parents": ",".join(manifest.parents),
        "code_version": manifest.code_version,
    }


def read_lineage(data: bytes) -> dict[str, str]:
    """What `lineage_of` put into a PNG; empty for one that carries no kind and id, and for what is no PNG."""
    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            image.load()  # text may stand behind the pixels
            texts = dict(getattr(image, "text", {}))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return {}
    found = {key: str(texts[LINEAGE_PREFIX + key]) for key in LINEAGE_KEYS if LINEAGE_PREFIX + key in texts}
    return found if found.get("kind") and found.get("id") else {}


def contact_sheet(
    images: np.ndarray,
    columns: int,
    scale: int = 2,
    gap_px: int = 2,
    lineage: Mapping[str, str] | None = None,
) -> bytes:
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
    return png(sheet, lineage)


def png(image: np.ndarray, lineage: Mapping[str, str] | None = None) -> bytes:
    """PNG of one (H,W,3) uint8 picture; `lineage` goes into text chunks, from where `read_lineage` has it."""
    texts = PngInfo()
    for key, value in (lineage or {}).items():
        texts.add_itxt(LINEAGE_PREFIX + key, value)
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG", pnginfo=texts)
    return buffer.getvalue()


def pictures_to_parquet(
    images: np.ndarray, columns: Mapping[str, Sequence[Any]], lineage: Mapping[str, str] | None = None
) -> bytes:
    """Parquet with a column `image` of PNG bytes beside the given columns."""
    sink = io.BytesIO()
    table = pa.table({"image": [png(image, lineage) for image in images], **columns})
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def pictures_from_parquet(data: bytes) -> tuple[np.ndarray, pa.Table]:
    """(N,H,W,3) uint8 pictures of one size, and the other columns."""
    table = pq.read_table(io.BytesIO(data))
    images = [
        np.asarray(Image.open(io.BytesIO(item)).convert("RGB")) for item in table.column("image").to_pylist()
    ]
    return np.stack(images), table.drop_columns(["image"])
