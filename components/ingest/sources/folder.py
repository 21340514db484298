"""What the three kinds of image folders share: which files are pictures, labels from names, reading."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from components.ingest.sources.attributions import Attributions
from components.ingest.sources.record import Declared, KindOptions, SourceError, SourceItem
from components.ingest.sources.tree import FileEntry, FileTree, extension, is_hidden, is_image, read_in_order

# Folders that describe pictures with pictures (trimaps, masks). Their files are no photos unless a table row
# names them.
ANNOTATION_FOLDERS = frozenset(
    str.split(
        "annotations annotation trimaps trimap masks mask segmentations segmentation xmls bboxes labels"
    )
)
# Folders that say nothing about the class: the label is then looked for one level up, or in the file name.
PLAIN_FOLDERS = frozenset(
    str.split(
        "images image imgs img photos photo pictures pics data dataset train training val valid validation "
        "test testing raw all jpg jpeg jpegs png"
    )
)
_SYNSET = re.compile(r"\An\d{8}[-_]")
_NAMED = re.compile(r"\A([^\W\d_]+(?:[_\- ][^\W\d_]+)*)[_\-]\d+\Z")
_CAMERA_NAMES = frozenset(
    str.split(
        "img image photo photos pic picture dsc dscn dscf dcim pxl p pict frame video vid mov mvi mvimg "
        "screenshot scan file wp gopr sam cimg hpim kic dji burst whatsapp image_wa"
    )
)


def is_annotation(relpath: str) -> bool:
    """Tell whether a folder of the path holds masks or the like."""
    return any(segment.casefold() in ANNOTATION_FOLDERS for segment in relpath.split("/")[:-1])


def is_photo(relpath: str) -> bool:
    """Tell whether a file counts as a picture of the source by its name and place."""
    return is_image(relpath) and not is_hidden(relpath) and not is_annotation(relpath)


def label_of(relpath: str) -> str:
    """Return the raw label that a path states, "" if none.

    "n02085620-Chihuahua/n02085620_10074.jpg" is Chihuahua, "train/beagle/1.jpg" is beagle,
    "images/american_bulldog_12.jpg" is american_bulldog, "IMG_0001.jpg" is nothing.
    """
    *folders, name = relpath.split("/")
    for folder in reversed(folders):
        if folder.casefold() not in PLAIN_FOLDERS:
            return _SYNSET.sub("", folder).strip()
    match = _NAMED.match(name.rpartition(".")[0])
    return match[1] if match and match[1].casefold() not in _CAMERA_NAMES else ""


class FolderSource:
    """Base of the image-folder kinds: items are files, bytes are the files' bytes."""

    def __init__(self, tree: FileTree, declared: Declared, options: KindOptions) -> None:
        self.tree, self.declared, self.options = tree, declared, options
        self.ignored: Counter[str] = Counter()
        self.sidecars: Counter[str] = Counter()
        self._attributions = Attributions(tree, options.attributions) if options.attributions else None

    def items(self) -> Iterator[SourceItem]:
        """Yield the items, in the order of their relpaths."""
        self.ignored.clear()
        self.sidecars.clear()
        for item in self._found():
            item = self._attributions.complete(item) if self._attributions else item
            yield self.declared.complete(item)

    def _found(self) -> Iterator[SourceItem]:
        raise NotImplementedError

    def read(self, items: Sequence[SourceItem]) -> Iterator[bytes | SourceError]:
        """Yield each file's bytes, or why there are none."""
        yield from read_in_order(self._bytes, items, self.tree.remote)

    def _bytes(self, item: SourceItem) -> bytes | SourceError:
        try:
            return self.tree.read(item.relpath)
        except SourceError as error:
            return SourceError(item.problem) if item.problem else error

    def skip(self, entry: FileEntry) -> None:
        """Count a file that is no picture of this source."""
        relpath = entry.relpath
        if relpath == self.options.attributions:
            self.sidecars[extension(relpath)] += 1
        elif is_image(relpath) and is_annotation(relpath):
            self.ignored[f"(annotation) {extension(relpath)}"] += 1
        else:
            self.ignored["(special)" if entry.fault else extension(relpath)] += 1


def file_item(entry: FileEntry, **values: Any) -> SourceItem:
    """Make the item of a file; a link to nothing is a problem."""
    problem = f"{entry.relpath} {entry.fault}" if entry.fault else ""
    return SourceItem(relpath=entry.relpath, **{"problem": problem, **values})
