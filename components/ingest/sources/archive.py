"""Tar archives as untrusted input: members are listed and read in place, nothing is extracted.

Only regular files with a relative path inside the archive are readable; links, devices, sparse files and
bad names are told with a problem. Sizes are bounded before a byte is allocated, headers and compression
ratios too. What precedes damage is kept.
"""

import gzip
import io
import os
import tarfile
import tempfile
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from components.ingest.sources.fields import safe_relpath
from components.ingest.sources.record import SourceError
from components.ingest.sources.tree import COPY_BYTES, MAX_FILE_BYTES, FileTree

GZIP_MAGIC = b"\x1f\x8b"
MAX_HEADER_BYTES = 2**20  # long names and pax records of one member; real ones have kilobytes
MAX_RATIO = 200  # text compresses 3-20 times, tars of photos 1.0 times; zeros 1000 times
FREE_BYTES = 256 * 2**20  # unpacked bytes that any .tar.gz may have, whatever its ratio
OPEN_ARCHIVES = 2  # unpacked or opened copies kept: runs of items cross from one archive to the next


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of a tar, folders left out. `name` is safe, or "#N" (its place) when the given one is not."""

    name: str
    offset: int  # bytes, of the data in the unpacked tar
    size: int
    problem: str = ""


class Archive:
    """A tar on this machine, unpacked if it was compressed, with all its members. Reads are thread-safe.

    `fault` is "" or what cuts the archive off; `members` are those before it. The file, or its unpacked or
    fetched copy, which has no name any more, goes with the last reference.
    """

    def __init__(self, tree: FileTree, relpath: str) -> None:
        self.relpath, self.fault = relpath, ""
        damage = ""
        with tree.local(relpath) as path:
            self._file: IO[bytes] = path.open("rb")
            if self._file.read(2) == GZIP_MAGIC:
                self._file.close()
                self._file, damage = unpack(path)
        self._size = os.fstat(self._file.fileno()).st_size
        self.members = list(self._scan())
        self.fault = damage or self.fault
        self._by_name: dict[str, Member] = {}
        for member in self.members:
            self._by_name.setdefault(member.name, member)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()

    def read(self, name: str) -> bytes:
        """Return the bytes of a member, the first of a repeated name. Raises SourceError."""
        member = self._by_name.get(name)
        if member is None:
            raise SourceError(f"There is no member {name} in {self.relpath}.")
        if member.problem:
            raise SourceError(member.problem)
        data = os.pread(self._file.fileno(), member.size, member.offset)
        if len(data) != member.size:
            raise SourceError(f"{name} is cut off: {self.relpath} changed while it was read.")
        return data

    def _scan(self) -> Iterator[Member]:
        """Yield the members in their order, up to the end or to what damages the archive."""
        reader = _BoundedFile(self._file.fileno(), self._size)
        place, end = 0, 0
        try:
            with tarfile.open(fileobj=reader, mode="r:", errors="surrogateescape") as tar:
                while (info := tar.next()) is not None:
                    reader.allow(MAX_HEADER_BYTES)
                    tar.members.clear()  # type: ignore[attr-defined]  # else every header is held
                    if info.size < 0 or info.offset < end:  # would lead tarfile back, for ever
                        raise SourceError("has a member of negative size")
                    end, place = info.offset_data, place + 1
                    if not info.isdir():
                        yield self._member(info, place)
        except SourceError as error:
            self.fault = str(error)
        except (tarfile.TarError, OSError, ValueError, OverflowError, RecursionError) as error:
            what = "is no tar archive" if place == 0 else f"is damaged or cut off after {place} members"
            self.fault = f"{what} ({error})"

    def _member(self, info: tarfile.TarInfo, place: int) -> Member:
        offset, size = info.offset_data, info.size
        try:
            name = safe_relpath(info.name)
        except SourceError as error:
            return Member(f"#{place}", offset, 0, f"member {place} of {self.relpath}: the name {error}")
        problem = ""
        if info.issparse():
            problem = "is a sparse file, which no picture is"
        elif not info.isreg():
            what = "a link" if info.issym() or info.islnk() else "a device or pipe"
            problem = f"is {what}; only regular files are read"
        elif size > MAX_FILE_BYTES:
            problem = f"has {size} bytes; the most is {MAX_FILE_BYTES}"
        elif offset + size > self._size:
            problem = "is cut off: the archive ends inside it"
        if problem:
            return Member(name, offset, 0, f"{name} in {self.relpath} {problem}")
        return Member(name, offset, size)


def unpack(path: Path) -> tuple[IO[bytes], str]:
    """Unpack gzip to a temporary file, up to damage or to a size that only a bomb has, which is told."""
    limit = max(FREE_BYTES, MAX_RATIO * path.stat().st_size)
    copy = tempfile.TemporaryFile(prefix="dogflow-tar-")  # noqa: SIM115 - closed by the archive
    fault = ""
    try:
        with gzip.open(path) as packed:
            while block := packed.read1(COPY_BYTES):
                copy.write(block)
                if copy.tell() > limit:
                    fault = f"unpacks to more than {limit} bytes, as only a bomb does"
                    break
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        fault = f"is damaged or cut off ({error})"
    except BaseException:
        copy.close()
        raise
    copy.flush()
    return copy, fault


class _BoundedFile(io.RawIOBase):
    """A file for tarfile that refuses reads no real header needs, before they allocate."""

    def __init__(self, descriptor: int, size: int) -> None:
        super().__init__()
        self._descriptor, self._size, self._at, self._left = descriptor, size, 0, MAX_HEADER_BYTES

    def allow(self, count: int) -> None:
        """Set how many bytes may be read until the next call."""
        self._left = count

    def read(self, count: int = -1) -> bytes:
        if count < 0 or count > self._left:
            raise SourceError(f"has a header that claims more than {MAX_HEADER_BYTES} bytes")
        data = os.pread(self._descriptor, count, self._at)
        self._at += len(data)
        self._left -= len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


class ArchiveCache:
    """The last few opened archives, so that runs of reads scan each once."""

    def __init__(self, tree: FileTree) -> None:
        self._tree = tree
        self._lock = threading.Lock()
        self._open: OrderedDict[str, Archive] = OrderedDict()

    def get(self, relpath: str) -> Archive:
        """Return an archive, open. Raises SourceError when the file is missing."""
        with self._lock:
            if relpath not in self._open:
                self._open[relpath] = Archive(self._tree, relpath)
                while len(self._open) > OPEN_ARCHIVES:
                    self._open.popitem(last=False)
            self._open.move_to_end(relpath)
            return self._open[relpath]
