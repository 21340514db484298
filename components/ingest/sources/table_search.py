"""Which of a folder's tables describe its pictures, and what their file names are relative to."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from components.ingest.sources.fields import safe_relpath
from components.ingest.sources.folder import PLAIN_FOLDERS, is_annotation
from components.ingest.sources.record import KindOptions, SourceError
from components.ingest.sources.table import TABLE_EXTENSIONS, Table
from components.ingest.sources.tree import IMAGE_EXTENSIONS, FileTree, extension, is_hidden

PROBED_ROWS = 24
MAX_PROBED_TABLES = 1000  # a folder of ten thousand unrelated CSVs is no table-described set
SUFFIXES = ("", ".jpg", ".jpeg", ".png", ".webp")


@dataclass(frozen=True)
class TablePlace:
    """A table and how its file names become relpaths: prefix + name + suffix. `roles` are those it has."""

    relpath: str
    prefix: str
    suffix: str
    roles: tuple[str, ...]
    names_images: bool  # most of the probed rows name a file with the extension of a picture
    hits: int  # of the probed rows, how many name a file that is there


def table_names(tree: FileTree) -> list[str]:
    """Return the relpaths of all files that may be tables."""
    return [
        entry.relpath
        for entry in tree.walk()
        if extension(entry.relpath) in TABLE_EXTENSIONS
        and not (entry.fault or is_hidden(entry.relpath) or is_annotation(entry.relpath))
    ]


def find_tables(tree: FileTree, options: KindOptions) -> list[TablePlace]:
    """Return the declared tables, or of each folder the one table that describes pictures best.

    Best is: has captions, then has breeds, then only names files that are there. Raises SourceError when two
    tables of a folder are equally good, and for a declared table that cannot be used.
    """
    folders = _plain_folders(tree)
    if options.table:
        names = [name.strip() for name in options.table.split(",") if name.strip()]
        return [_place(tree, name, options, folders) for name in names]
    best: dict[str, list[TablePlace]] = {}
    for name in table_names(tree)[:MAX_PROBED_TABLES]:
        try:
            place = _place(tree, name, options, folders)
        except SourceError:
            continue
        if not (place.hits or ("caption" in place.roles and place.names_images)):
            continue
        rivals = best.setdefault(name.rpartition("/")[0], [])
        if not rivals or _rank(place) > _rank(rivals[0]):
            rivals[:] = [place]
        elif _rank(place) == _rank(rivals[0]):
            rivals.append(place)
    for rivals in best.values():
        if len(rivals) > 1:
            both = ", ".join(place.relpath for place in rivals)
            raise SourceError(
                f"{tree.uri} has several tables that could describe its pictures: {both}. Name the one "
                f'to use with table="{rivals[0].relpath}", or several with commas between.'
            )
    return [rivals[0] for _, rivals in sorted(best.items())]


def _rank(place: TablePlace) -> tuple[bool, bool]:
    return "caption" in place.roles, "breed" in place.roles


def _plain_folders(tree: FileTree) -> list[str]:
    """Return the top folders that may hold the pictures of a table at the root ("images/")."""
    tops = {relpath.partition("/")[0] for relpath in _relpaths(tree) if "/" in relpath}
    return sorted(f"{top}/" for top in tops if top.casefold() in PLAIN_FOLDERS)


def _relpaths(tree: FileTree) -> Iterator[str]:
    return (entry.relpath for entry in tree.walk())


def _place(tree: FileTree, name: str, options: KindOptions, folders: list[str]) -> TablePlace:
    """Open a table and probe what its names are relative to: its folder, the root, or an "images" folder."""
    with Table(tree.open(name), name, options.columns, options.encoding) as table:
        roles = tuple(sorted(table.roles))
        probed = [row.values.get("file", "") for row in islice(table.rows(), PROBED_ROWS)]
    files = []
    for text in probed:
        try:
            files.append(safe_relpath(text))
        except SourceError:
            continue
    own = name.rpartition("/")[0]
    own = f"{own}/" if own else ""
    prefixes = [options.images.strip("/") + "/"] if options.images else [own, "", *folders]
    bare = [file for file in files if f".{file.rpartition('.')[2].lower()}" not in IMAGE_EXTENSIONS]
    names_images = len(bare) < max(1, len(files)) / 2
    suffixes = SUFFIXES[:1] if names_images else SUFFIXES
    best = TablePlace(name, prefixes[0], "", roles, names_images, 0)
    for prefix in dict.fromkeys(prefixes):
        for suffix in suffixes:
            hits = sum(tree.exists(prefix + file + suffix) for file in files)
            if hits > best.hits:
                best = TablePlace(name, prefix, suffix, roles, names_images, hits)
            if hits == len(files):
                return best
    return best
