"""Which kind of source a folder or a file is."""

from collections import Counter

from components.ingest.sources.folder import is_photo
from components.ingest.sources.pairs import is_text
from components.ingest.sources.record import KindOptions, SourceError
from components.ingest.sources.table_search import find_tables
from components.ingest.sources.tree import FileTree, extension

TAR_SUFFIXES = (".tar", ".tar.gz", ".tgz")
PARQUET_SUFFIXES = (".parquet", ".pq")
VIDEO_EXTENSIONS = frozenset(str.split(".mp4 .mov .m4v .avi .mkv .webm .mpg .mpeg .mts .m2ts .3gp .wmv .flv"))
LOOKED_FOR = (
    "pictures (.jpg, .png, .webp, ...), with or without a table (.csv, .tsv, .jsonl), .txt files or class "
    "folders; .tar, .tar.gz; .parquet; videos (.mp4, .mov, .avi, ...)"
)


def container_of(relpath: str) -> str:
    """Return "webdataset", "parquet", "video", "image" or "" by a file's name."""
    lower = relpath.lower()
    hidden = extension(relpath) == "(hidden)"
    if hidden:
        return ""
    if lower.endswith(TAR_SUFFIXES):
        return "webdataset"
    if lower.endswith(PARQUET_SUFFIXES):
        return "parquet"
    if extension(relpath) in VIDEO_EXTENSIONS:
        return "video"
    return "image" if is_photo(relpath) else ""


def detect(tree: FileTree, options: KindOptions) -> str:
    """Return the kind of a tree.

    Tars are a WebDataset, Parquet beside them its sidecars; Parquet alone is rows of pictures; pictures are
    described by a table, by texts of the same stem, or by their folders, looked for in that order. Raises
    SourceError when nothing is found, and when pictures, videos and archives are mixed.
    """
    found: Counter[str] = Counter()
    extensions: Counter[str] = Counter()
    stems = _Stems()
    for entry in tree.walk():
        extensions[extension(entry.relpath)] += 1
        kind = container_of(entry.relpath)
        if kind:
            found[kind] += 1
        stems.add(entry.relpath, kind == "image")
    if found["webdataset"] or found["image"]:
        del found["parquet"]  # sidecars, as img2dataset writes them
    if len(found) > 1:
        counts = ", ".join(f"{count} {_PLURALS[kind]}" for kind, count in sorted(found.items()))
        kinds = " or ".join("class_folders" if kind == "image" else kind for kind in sorted(found))
        raise SourceError(
            f"{tree.uri} mixes {counts}: say which to read with kind={kinds}, or split the folder."
        )
    if not found:
        seen = ", ".join(f"{count} {name}" for name, count in extensions.most_common(6)) or "no file at all"
        raise SourceError(
            f"{tree.uri} holds nothing that can be ingested: found {seen}; looked for {LOOKED_FOR}."
        )
    kind = next(iter(found))
    if kind != "image":
        return kind
    if options.table or find_tables(tree, options):
        return "folder_table"
    return "pairs" if stems.paired else "class_folders"


_PLURALS = {"image": "pictures", "video": "videos", "webdataset": "tar archives", "parquet": "Parquet files"}


class _Stems:
    """Whether a picture and a text of one stem come by. Holds the names of one folder at a time."""

    def __init__(self) -> None:
        self.paired = False
        self._folder = ""
        self._images: set[str] = set()
        self._texts: set[str] = set()

    def add(self, relpath: str, image: bool) -> None:
        if self.paired or not (image or is_text(relpath)):
            return
        folder = relpath.rpartition("/")[0]
        if folder != self._folder:
            self._folder, self._images, self._texts = folder, set(), set()
        stem = relpath.rpartition(".")[0]
        (self._images if image else self._texts).add(stem)
        self.paired = stem in self._images and stem in self._texts
