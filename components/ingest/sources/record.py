"""What every source gives: `SourceItem`s, then their bytes. `open_source` finds out the kind."""

import importlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

# kind -> the module with its `open(tree, declared, options)`; imported when asked for, as video needs cv2.
KINDS = ("folder_table", "class_folders", "pairs", "webdataset", "parquet", "video")


class SourceError(ValueError):
    """A source, or one item of it, that cannot be read. The message names the file or row and the fix."""


@dataclass(frozen=True, slots=True)
class SourceItem:
    """One picture of a source, without its bytes, or one row that should have been a picture.

    `relpath` is unique inside the source: posix, relative to the source root; "a.tar/000001.jpg" for an
    archive member, "clip.mp4#t=000012.480" for a frame, "part-0.parquet#000000017" for a row (padded, so that
    the order of relpaths is the order of rows). `group` names the clip
    or session the picture comes from ("" if alone). A row with a `problem` may still have bytes (a caption in
    a wrong encoding) or have none (a missing file): `Source.read` tells.
    """

    relpath: str
    caption: str = ""
    breed: str = ""  # label as the source writes it, "" if none
    source: str = ""
    license: str = ""  # as the source writes it
    reviewed: bool = False
    group: str = ""
    problem: str = ""


class Source(Protocol):
    """A readable source. `items` may be called again and gives the same items in the same order.

    After `items` has run to its end, `ignored` counts the files that are no pictures of this source, and
    `sidecars` the files that described pictures, both by extension (".txt", "(hidden)", "(none)").
    Every file of the root is an item, contains items, or is counted in one of the two.
    """

    ignored: Counter[str]
    sidecars: Counter[str]

    def items(self) -> Iterator[SourceItem]:
        """Yield all items: files in the order of their relpath, rows and members in their file's order."""

    def read(self, items: Sequence[SourceItem]) -> Iterator[bytes | SourceError]:
        """Yield, per item and in order, its bytes or why there are none. Cheapest for a run of `items()`.

        Thread-safe. Raises StorageError when the store behind the source is away.
        """


@dataclass(frozen=True)
class Declared:
    """What the user says about a whole source. A value in a row wins over it."""

    source: str = ""  # name for the allow-list; default: last segment of the source's path
    license: str = ""
    breed: str = ""
    caption: str = ""
    reviewed: bool = False
    group_by: str = ""  # "folder": pictures of one folder form one group

    def complete(self, item: SourceItem) -> SourceItem:
        """Return the item with the declared values where its own are empty."""
        group = item.group
        if self.group_by == "folder" and not group:
            group = item.relpath.rpartition("/")[0]
        return replace(
            item,
            source=item.source or self.source,
            license=item.license or self.license,
            breed=item.breed or self.breed,
            caption=item.caption or self.caption,
            reviewed=item.reviewed or self.reviewed,
            group=group,
        )


@dataclass(frozen=True)
class KindOptions:
    """Options of single kinds. A text option given to a kind that has no use for it is an error."""

    table: str = ""  # folder_table: the table file(s), comma-separated, relative to the root
    columns: str = (
        ""  # folder_table: meaning of the columns of a table without header: "file,caption,-,breed"
    )
    encoding: str = "utf-8"  # folder_table: encoding of the table
    images: str = ""  # folder_table: folder that the table's file names are relative to
    attributions: str = ""  # folders: CSV with titles or URLs and licences, matched by file name
    frame_every: int = 30  # video: one frame, the sharpest, out of each so many
    frame_format: str = "png"  # video: "png" (lossless) or "jpeg" (quality 95)


# Text options that a kind would leave unread: a licence list or a table that silently does nothing is a trap.
TEXT_OPTIONS = frozenset({"table", "columns", "encoding", "images", "attributions"})
READ_BY: dict[str, frozenset[str]] = {
    "folder_table": TEXT_OPTIONS,
    "class_folders": frozenset({"attributions"}),
    "pairs": frozenset({"attributions"}),
}


def open_source(path_or_uri: str, kind: str = "auto", **declared: Any) -> Source:
    """Open a folder, a single archive, table or video, or an s3:// prefix.

    `declared` takes the fields of `Declared` and of `KindOptions`. Raises SourceError when nothing readable
    is there (it says what was looked for), for an unknown kind or option, and when two kinds fit.
    """
    from components.ingest.sources.detection import detect
    from components.ingest.sources.table import TABLE_EXTENSIONS
    from components.ingest.sources.tree import extension, open_tree

    known = {field.name: field for model in (Declared, KindOptions) for field in fields(model)}
    for name in declared:
        if name not in known:
            raise SourceError(f"Unknown source option {name!r}: use one of {', '.join(sorted(known))}.")
    tree = open_tree(path_or_uri)
    names = {field.name for field in fields(Declared)}
    facts = Declared(**{name: value for name, value in declared.items() if name in names})
    options = KindOptions(**{name: value for name, value in declared.items() if name not in names})
    if facts.group_by not in ("", "folder"):
        raise SourceError(f'group_by={facts.group_by!r} is not known: use "folder" or leave it out.')
    if extension(tree.only) in TABLE_EXTENSIONS and kind in ("auto", "folder_table"):
        options, tree = replace(options, table=options.table or tree.only), tree.whole()
        kind = "folder_table"
    if not facts.source:
        facts = replace(facts, source=tree.name)
    if kind == "auto":
        kind = detect(tree, options)
    elif kind not in KINDS:
        raise SourceError(f"Unknown kind of source {kind!r}: use auto, {', '.join(KINDS)}.")
    unused = sorted(
        name
        for name in TEXT_OPTIONS - READ_BY.get(kind, frozenset())
        if getattr(options, name) != getattr(KindOptions(), name)
    )
    if unused:
        raise SourceError(f"{tree.uri} is read as {kind}, which has no option {', '.join(unused)}.")
    module = importlib.import_module(f"components.ingest.sources.{kind}")
    opener: Callable[..., Source] = module.open_kind
    return opener(tree, facts, options)
