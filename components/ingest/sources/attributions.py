"""Licences from a list of attributions: a CSV that names pictures by URL or title, not by file name.

A picture matches a line whose URL's last segment, or whose title, has the same letters and digits as its file
name. Where the matching lines disagree on the licence (six photos titled "Beagle"), none of them is taken.
"""

import csv
import io
import re
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from components.ingest.sources.record import SourceError, SourceItem
from components.ingest.sources.tree import FileTree

_EXTENSION = re.compile(r"\.(jpe?g|png|gif|webp|tiff?)\W*\Z", re.IGNORECASE)
MAX_CSV_BYTES = 64 * 2**20


class Attributions:
    """Licence by picture name. Raises SourceError when the CSV has no licence, or neither URL nor title."""

    def __init__(self, tree: FileTree, relpath: str) -> None:
        text = tree.read(relpath, MAX_CSV_BYTES).decode("utf-8-sig", "replace")
        rows = csv.DictReader(io.StringIO(text, newline=""))
        columns = {(name or "").strip().casefold().replace(" ", "_"): name for name in rows.fieldnames or ()}
        license_column = next((columns[name] for name in ("license", "licence") if name in columns), None)
        names = [
            columns[name] for name in ("image_url", "url", "file", "file_name", "title") if name in columns
        ]
        if license_column is None or not names:
            raise SourceError(
                f"{relpath} is no list of attributions: it needs a column license, and one of image_url, "
                f"url, file, file_name, title; found {', '.join(columns) or 'nothing'}."
            )
        self._licenses: dict[str, set[str]] = {}
        for row in rows:
            for name in names:
                segment = urlsplit_path(row.get(name) or "") if "url" in name else row.get(name) or ""
                key = picture_key(segment)
                if key:
                    self._licenses.setdefault(key, set()).add((row.get(license_column) or "").strip())

    def license(self, relpath: str) -> str:
        """Return the licence of a picture, "" when unknown or ambiguous."""
        found = self._licenses.get(picture_key(relpath.rpartition("/")[2]), set())
        return next(iter(found)) if len(found) == 1 else ""

    def complete(self, item: SourceItem) -> SourceItem:
        """Return the item with its licence filled in where it has none."""
        return item if item.license else replace(item, license=self.license(item.relpath))


def urlsplit_path(url: str) -> str:
    """Return the last segment of a URL's path, "" for what is no URL."""
    try:
        return urlsplit(url.strip()).path.rpartition("/")[2]
    except ValueError:
        return ""


def picture_key(name: str) -> str:
    """Return a picture's letters and digits: "Beagle_600.jpg" and "Beagle 600" are "beagle600"."""
    key = re.sub(r"[\W_]+", "", _EXTENSION.sub("", unquote(name).strip()).casefold())
    return "" if key == "na" else key
