"""Photos in a report: small JPEGs as data URIs, within a size that a mail or a browser takes."""

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from components.report.data import ReportData

BUDGET_BYTES = 3_000_000  # of JPEG; base64 makes 4 MB of it, so that a report stays under 5 MB
_CAPTION_CHARACTERS = 220
_JPEG = b"\xff\xd8\xff"


@dataclass(frozen=True)
class Photo:
    """One photo as shown. src: data URI, or "" where there is no thumbnail. value: its score, or None."""

    image_id: str
    src: str
    caption: str
    breed: str
    place: str
    keep: bool
    reasons: tuple[str, ...]
    value: float | None = None


class Album:
    """Makes photos of rows; asks for thumbnails until the size budget is used up, then does without."""

    def __init__(self, data: ReportData, budget_bytes: int = BUDGET_BYTES) -> None:
        self.data = data
        self.left_out = 0
        self._budget_bytes = budget_bytes

    def photo(self, row: int, value: float | None = None) -> Photo:
        """The photo of a row."""
        image_id = self._cell("image_id", row) or ""
        breed = self._cell("breed", row) or ""
        return Photo(
            image_id,
            self._source(image_id),
            _shortened(self._cell("caption", row) or ""),
            self.data.breed_names.get(breed, breed),
            self._cell("source_uri", row) or "",
            bool(self._cell("keep", row)),
            tuple(self._cell("reasons", row) or ()),
            value,
        )

    def by_id(self, image_id: str) -> Photo | None:
        """The photo with an id, or None if no row has it."""
        row = pc.index(self.data.rows.column("image_id"), pa.scalar(image_id)).as_py()
        return None if row < 0 else self.photo(row)

    def _cell(self, column: str, row: int) -> Any:
        if column not in self.data.rows.column_names:
            return None
        return self.data.rows.column(column)[row].as_py()

    def _source(self, image_id: str) -> str:
        jpeg = self.data.thumbnail(image_id) if self._budget_bytes > 0 else None
        if self._budget_bytes <= 0 or (jpeg and len(jpeg) > self._budget_bytes):
            self.left_out += 1
            return ""
        if not jpeg or not jpeg.startswith(_JPEG):
            return ""
        self._budget_bytes -= len(jpeg)
        return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode("ascii")


def _shortened(caption: str) -> str:
    if len(caption) <= _CAPTION_CHARACTERS:
        return caption
    return caption[: _CAPTION_CHARACTERS - 1].rstrip() + "…"


def kept_examples(rows: pa.Table, count: int) -> list[int]:
    """Row indices of kept photos, spread evenly over breeds and within them over the rows' order."""
    kept = np.flatnonzero(pc.fill_null(rows.column("keep"), False).to_numpy())
    if "breed" in rows.column_names and len(kept):
        codes = pc.fill_null(rows.column("breed"), "").combine_chunks().dictionary_encode()
        names = np.argsort(np.argsort(np.array(codes.dictionary.to_pylist(), dtype=object)))
        kept = kept[np.argsort(names[codes.indices.to_numpy()][kept], kind="stable")]
    places = np.unique(np.linspace(0, len(kept) - 1, min(count, len(kept))).round().astype(int))
    return kept[places].tolist() if len(kept) else []
