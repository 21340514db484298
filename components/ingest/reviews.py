"""Results of a human review, merged onto the items of a source.

A reviews file is a CSV, TSV or JSONL with `image_id` (32 hex digits) or `file` (relpath in the source), and
any of `reviewed` (missing means yes: the row is in the file) and `breed`, a corrected label ("-" takes the
label away). Later lines win over earlier ones, so a review page may append; a line by image_id wins over
one by file.
"""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from components.ingest.sources.fields import SYNONYMS, clean_text, parse_reviewed, safe_relpath
from components.ingest.sources.record import SourceError, SourceItem
from components.ingest.sources.table import Table

REVIEW_SYNONYMS = {
    "image_id": ["image_id"],
    "file": [name for name in SYNONYMS["file"] if name != "image_id"] + ["source_uri"],
    "reviewed": SYNONYMS["reviewed"],
    "breed": ["correct_breed", "corrected_breed", "breed_correction", *SYNONYMS["breed"]],
}
NO_BREED = "-"
_IMAGE_ID = re.compile(r"[0-9a-f]{32}")
SHOWN_PROBLEMS = 5


class ReviewError(ValueError):
    """A reviews file that cannot be used. The message names the file and its lines."""


@dataclass(frozen=True, slots=True)
class Review:
    """What a reviewer said: `breed` is "" to keep the label, "-" to take it away, else the right label."""

    reviewed: bool
    breed: str


class Reviews:
    """Reviews by image id and by file.

    Raises ReviewError naming the lines that say nothing certain; half a reviews file is not applied.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self.name = name
        self._by_id: dict[str, Review] = {}
        self._by_file: dict[str, Review] = {}
        self._used: set[str] = set()
        problems = list(self._load(data))
        if problems:
            more = f" and {len(problems) - SHOWN_PROBLEMS} more" if len(problems) > SHOWN_PROBLEMS else ""
            raise ReviewError(f"{name} cannot be used: {'; '.join(problems[:SHOWN_PROBLEMS])}{more}.")

    def __len__(self) -> int:
        return len(self._by_id) + len(self._by_file)

    def apply(self, item: SourceItem, image_id: str) -> SourceItem:
        """Return the item as reviewed, itself when nobody reviewed it; `image_id` is "" without bytes."""
        key = image_id if image_id in self._by_id else item.relpath
        review = self._by_id.get(key) or self._by_file.get(key)
        if review is None:
            return item
        self._used.add(key)
        breed = item.breed if not review.breed else "" if review.breed == NO_BREED else review.breed
        return replace(item, reviewed=review.reviewed, breed=breed)

    def unused(self) -> list[str]:
        """Return the ids and files that no item had so far: a typing error, or a photo that is gone."""
        return sorted({*self._by_id, *self._by_file} - self._used)

    def _load(self, data: bytes) -> Iterator[str]:
        """Take the lines; yield what is wrong with them."""
        try:
            table = Table(io.BytesIO(data), self.name, synonyms=REVIEW_SYNONYMS)
        except SourceError as error:
            raise ReviewError(str(error)) from None
        with table:
            for row in table.rows():
                try:
                    if row.problem:
                        raise SourceError(row.problem)
                    self._take(row.values)
                except SourceError as error:
                    yield f"line {row.line}: {error}"

    def _take(self, values: dict[str, str]) -> None:
        breed, fault = clean_text(values.get("breed", ""))
        if fault:
            raise SourceError(f"breed {fault}")
        review = Review(parse_reviewed(values["reviewed"]) if "reviewed" in values else True, breed)
        image_id, file = values.get("image_id", "").lower(), values.get("file", "")
        if image_id:
            if not _IMAGE_ID.fullmatch(image_id):
                raise SourceError(f"image_id {image_id[:40]!r} is not 32 hex digits")
            self._by_id[image_id] = review
        else:
            self._by_file[safe_relpath(file)] = review
