"""WebDataset tars, also gzipped, and img2dataset's output: a sample is the run of members with one key.

"000/0001.jpg", ".txt" and ".json" form the sample "000/0001". The caption is taken from .txt, else .json,
else the Parquet file beside the tar ("00000.parquet"), where img2dataset also says which downloads failed:
those rows become items with a problem, as do rows it calls a success that the tar does not hold.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from components.ingest.sources.archive import Archive, ArchiveCache, Member
from components.ingest.sources.detection import TAR_SUFFIXES
from components.ingest.sources.fields import as_text, find_roles, item_of
from components.ingest.sources.folder import label_of
from components.ingest.sources.parquet_rows import read_rows
from components.ingest.sources.record import Declared, KindOptions, SourceError, SourceItem
from components.ingest.sources.tree import FileTree, extension, is_hidden, is_image

TEXTS = frozenset({".txt", ".caption", ".text"})
CLASSES = frozenset({".cls", ".label"})
MASK_PARTS = frozenset({"mask", "seg", "trimap", "segmentation", "depth"})
SIDECAR_SUFFIXES = (".parquet", "_stats.json")
MAX_TEXT_BYTES = 2**20


@dataclass(slots=True)
class _SidecarRow:
    values: dict[str, str]
    failure: str  # "" for a success
    seen: bool = False


class WebDataset:
    """Pictures in tars."""

    def __init__(self, tree: FileTree, declared: Declared) -> None:
        self.tree, self.declared = tree, declared
        self.ignored: Counter[str] = Counter()
        self.sidecars: Counter[str] = Counter()
        self._cache = ArchiveCache(tree)

    def items(self) -> Iterator[SourceItem]:
        """Yield the items, tar by tar, in the order of the members."""
        self.ignored.clear()
        self.sidecars.clear()
        for entry in self.tree.walk():
            relpath = entry.relpath
            if relpath.lower().endswith(TAR_SUFFIXES) and not is_hidden(relpath):
                if entry.fault:
                    yield self.declared.complete(SourceItem(relpath, problem=f"{relpath} {entry.fault}"))
                    continue
                for item in self._tar_items(relpath):
                    yield self.declared.complete(item)
            elif relpath.endswith(SIDECAR_SUFFIXES) and self._has_tar(relpath):
                self.sidecars[extension(relpath)] += 1
            else:
                self.ignored[extension(relpath)] += 1

    def read(self, items: Sequence[SourceItem]) -> Iterator[bytes | SourceError]:
        """Yield the bytes of each member, or why there are none."""
        for item in items:
            try:
                yield self._bytes(item)
            except SourceError as error:
                yield SourceError(item.problem) if item.problem else error

    def _bytes(self, item: SourceItem) -> bytes:
        tar, name = split_tar(item.relpath)
        if not name:
            raise SourceError(f"{item.relpath} is no member of an archive.")
        return self._cache.get(tar).read(name)

    def _has_tar(self, relpath: str) -> bool:
        stem = next(relpath.removesuffix(suffix) for suffix in SIDECAR_SUFFIXES if relpath.endswith(suffix))
        return any(self.tree.exists(stem + suffix) for suffix in TAR_SUFFIXES)

    def _tar_items(self, tar: str) -> Iterator[SourceItem]:
        try:
            archive = self._cache.get(tar)
            rows = self._sidecar_rows(tar)
        except SourceError as error:
            yield SourceItem(tar, problem=str(error))
            return
        seen: set[str] = set()
        for key, members in groupby(archive.members, lambda member: sample_key(member.name)):
            yield from self._sample(archive, key, list(members), rows, seen)
        if archive.fault:
            yield SourceItem(tar, problem=f"{tar} {archive.fault}; {len(seen)} pictures before that are kept")
        for key, row in rows.items():
            if not row.seen:
                problem = row.failure or f"{key} is a success in {_sidecar(tar)} but is not in {tar}"
                yield item_of(f"{_sidecar(tar)}#{key}", row.values, problem)

    def _sample(
        self, archive: Archive, key: str, members: list[Member], rows: dict[str, _SidecarRow], seen: set[str]
    ) -> Iterator[SourceItem]:
        pictures = []
        for member in members:
            if member.problem or _is_picture(member.name):
                pictures.append(member)
            elif not _describes(member.name):
                self.ignored[extension(member.name)] += 1
        row = rows.get(key.rpartition("/")[2])
        described, problem = self._description(archive, members, row.values if row else {}, bool(pictures))
        for member in pictures:
            relpath = f"{archive.relpath}/{member.name}"
            if member.name in seen:
                text = f"{member.name} appears again in {archive.relpath}"
                yield item_of(f"{relpath}#offset={member.offset}", described, text)
                continue
            seen.add(member.name)
            if row and not member.problem:
                row.seen = True
            item = item_of(relpath, described, member.problem or problem)
            yield (
                item
                if item.breed
                else replace(item, breed=label_of(member.name) if "/" in member.name else "")
            )

    def _description(
        self, archive: Archive, members: list[Member], values: dict[str, str], wanted: bool
    ) -> tuple[dict[str, str], str]:
        """Return {role: text} of a sample from its Parquet row, .json, .cls and .txt, and what is wrong."""
        merged, problem = dict(values), ""
        for member in sorted(members, key=lambda one: _RANK.get(extension(one.name), 9)):
            if member.problem or not _describes(member.name):
                continue
            (self.sidecars if wanted else self.ignored)[extension(member.name)] += 1
            if not wanted:
                continue
            if member.size > MAX_TEXT_BYTES:
                problem = f"{member.name} has {member.size} bytes; a text may have {MAX_TEXT_BYTES}"
                continue
            try:
                merged.update(_values(member.name, archive.read(member.name)))
            except SourceError as error:
                problem = str(error)
        return merged, problem

    def _sidecar_rows(self, tar: str) -> dict[str, _SidecarRow]:
        """Read img2dataset's Parquet file of a tar, {} if there is none or it has no keys."""
        name = _sidecar(tar)
        if not self.tree.exists(name):
            return {}
        rows = {}
        for record in read_rows(self.tree, name):
            key, status = as_text(record.get("key")), as_text(record.get("status"))
            if not key:
                continue
            failure = (
                ""
                if status in ("", "success")
                else f"img2dataset: {status}, {as_text(record.get('error_message'))}"
            )
            values = {role: as_text(record.get(column)) for role, column in find_roles(record).items()}
            rows[key] = _SidecarRow(values, failure)
        return rows


# Lower first: what comes later wins where both say something.
_RANK = {".json": 0, **dict.fromkeys(CLASSES, 1), **dict.fromkeys(TEXTS, 2)}


def split_tar(relpath: str) -> tuple[str, str]:
    """Split "dir/a.tar/x/1.jpg" into ("dir/a.tar", "x/1.jpg"); the name is "" when there is no tar."""
    segments = relpath.split("/")
    for at, segment in enumerate(segments[:-1], 1):
        if segment.lower().endswith(TAR_SUFFIXES):
            return "/".join(segments[:at]), "/".join(segments[at:])
    return relpath, ""


def sample_key(name: str) -> str:
    """Return the key of a member: its path up to the first dot of its last segment, as WebDataset has it."""
    folder, slash, base = name.rpartition("/")
    return folder + slash + base.partition(".")[0]


def _sidecar(tar: str) -> str:
    suffix = next(suffix for suffix in TAR_SUFFIXES if tar.lower().endswith(suffix))
    return tar[: -len(suffix)] + ".parquet"


def _is_picture(name: str) -> bool:
    parts = set(name.rpartition("/")[2].casefold().split(".")[1:-1])
    return is_image(name) and not is_hidden(name) and not parts & MASK_PARTS


def _describes(name: str) -> bool:
    return extension(name) in _RANK


def _values(name: str, content: bytes) -> dict[str, str]:
    if not name.endswith(".json"):
        text = content.decode("utf-8-sig", "surrogateescape").strip()
        return {"breed" if extension(name) in CLASSES else "caption": text}
    try:
        record = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{name} is no JSON ({error})") from None
    if not isinstance(record, dict):
        return {}
    values = {role: as_text(record[column]) for role, column in find_roles(record).items()}
    return {role: text for role, text in values.items() if text}


def open_kind(tree: FileTree, declared: Declared, options: KindOptions) -> WebDataset:
    """Open a tree as WebDataset tars."""
    return WebDataset(tree, declared)
