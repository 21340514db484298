"""Image folders with a text of the same stem beside each picture: "a.jpg" and "a.txt", ".caption" or ".json".

A .json sidecar (img2dataset's files output, kohya) is read for all roles; a .txt or .caption wins for the
caption.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from components.ingest.sources.fields import as_text, clean_text, find_roles, item_of
from components.ingest.sources.folder import FolderSource, file_item, is_photo, label_of
from components.ingest.sources.record import Declared, KindOptions, SourceError, SourceItem
from components.ingest.sources.tree import FileEntry, FileTree, extension, is_hidden, read_in_order

TEXT_EXTENSIONS = (".txt", ".caption")
SIDECAR_EXTENSIONS = (*TEXT_EXTENSIONS, ".json")
MAX_TEXT_BYTES = 2**20
WINDOW = 512  # items whose sidecars are read together: on a bucket a read is latency


class Pairs(FolderSource):
    """Pictures with the caption from their sidecar. A picture without one has an empty caption."""

    def _found(self) -> Iterator[SourceItem]:
        # The sidecars' names have to be known before their pictures come by: "a.txt" sorts after "a.png",
        # with any number of files between. About 150 bytes a sidecar.
        texts = {e.relpath: False for e in self.tree.walk() if is_text(e.relpath)}  # name -> used
        entries = iter(self.tree.walk())
        while window := list(islice(entries, WINDOW)):
            yield from self._window(window, texts)
        for name, used in texts.items():
            (self.sidecars if used else self.ignored)[extension(name)] += 1

    def _window(self, window: list[FileEntry], texts: dict[str, bool]) -> Iterator[SourceItem]:
        photos = []
        for entry in window:
            if is_photo(entry.relpath):
                photos.append(entry)
            elif entry.relpath not in texts:
                self.skip(entry)
        names = [[name for name in _sidecar_names(photo.relpath) if name in texts] for photo in photos]
        flat = [name for group in names for name in group]
        contents = dict(zip(flat, read_in_order(self._sidecar, flat, self.tree.remote), strict=True))
        for photo, group in zip(photos, names, strict=True):
            texts.update(dict.fromkeys(group, True))
            yield described(photo, [(name, contents[name]) for name in group])

    def _sidecar(self, name: str) -> bytes | SourceError:
        try:
            return self.tree.read(name, MAX_TEXT_BYTES)
        except SourceError as error:
            return error


def is_text(relpath: str) -> bool:
    """Tell whether a file may describe the picture of the same stem."""
    return relpath.endswith(SIDECAR_EXTENSIONS) and not is_hidden(relpath)


def _sidecar_names(relpath: str) -> list[str]:
    stem = relpath.rpartition(".")[0]
    return [stem + extension for extension in reversed(SIDECAR_EXTENSIONS)]


def described(photo: FileEntry, sidecars: list[tuple[str, bytes | SourceError]]) -> SourceItem:
    """Make an item of a picture and its sidecars, .json first."""
    item = file_item(photo, breed=label_of(photo.relpath))
    for name, content in sidecars:
        if isinstance(content, SourceError):
            item = _with_problem(item, str(content))
        elif name.endswith(".json"):
            item = _with_json(item, name, content)
        else:
            text, problem = clean_text(content.decode("utf-8-sig", "surrogateescape").strip())
            item = replace(item, caption=text or item.caption)
            if problem:
                item = _with_problem(item, f"{name} {problem}")
    return item


def _with_json(item: SourceItem, name: str, content: bytes) -> SourceItem:
    try:
        record = json.loads(content)
    except (ValueError, RecursionError) as error:
        return _with_problem(item, f"{name} is no JSON ({error})")
    if not isinstance(record, dict):
        return item
    values = {role: as_text(record[column]) for role, column in find_roles(record).items()}
    found = item_of(item.relpath, values)
    merged = replace(found, breed=found.breed or item.breed, problem=item.problem)
    return _with_problem(merged, f"{name}: {found.problem}") if found.problem else merged


def _with_problem(item: SourceItem, problem: str) -> SourceItem:
    return replace(item, problem="; ".join(filter(None, (item.problem, problem))))


def open_kind(tree: FileTree, declared: Declared, options: KindOptions) -> Pairs:
    """Open a tree as pictures with texts beside them."""
    return Pairs(tree, declared, options)
