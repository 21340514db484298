"""Image folders whose folder or file names are the labels.

Stanford Dogs ("n02085620-Chihuahua/..."), a folder per class ("beagle/...", also below "train/"), Oxford Pets
("american_bulldog_12.jpg"), and plain folders of photos, which have no label.
"""

from collections.abc import Iterator

from components.ingest.sources.folder import FolderSource, file_item, is_photo, label_of
from components.ingest.sources.record import Declared, KindOptions, SourceItem
from components.ingest.sources.tree import FileTree


class ClassFolders(FolderSource):
    """Pictures with the label their path states and no caption."""

    def _found(self) -> Iterator[SourceItem]:
        for entry in self.tree.walk():
            if is_photo(entry.relpath):
                yield file_item(entry, breed=label_of(entry.relpath))
            else:
                self.skip(entry)


def open_kind(tree: FileTree, declared: Declared, options: KindOptions) -> ClassFolders:
    """Open a tree as class folders."""
    return ClassFolders(tree, declared, options)
