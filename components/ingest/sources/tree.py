"""File access for sources: one small interface over a local folder and over a bucket.

Local folders are walked with `os.scandir` one directory at a time, so a folder of any depth costs the
memory of its largest directory. Both trees list in the order of S3 keys (code points of the whole relpath),
so that a source has the same order wherever it lies.
"""

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, cast

from components.data.storage import InvalidPath, NotFound, Store, open_store, split_file_uri
from components.ingest.sources.record import SourceError

IMAGE_EXTENSIONS = frozenset(
    str.split(".jpg .jpeg .jpe .jfif .png .webp .gif .bmp .tif .tiff .heic .heif .avif .jp2 .jxl")
)
MAX_FILE_BYTES = 256 * 2**20  # of one picture; a larger "picture" is a mistake or an attack
COPY_BYTES = 4 * 2**20
READ_THREADS, READ_AHEAD = 8, 16  # for a bucket, where a read is latency; 16 x a few MB of photos


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of a tree. `fault` is "" or why it cannot be read: a broken link, a device, a looping folder."""

    relpath: str
    fault: str = ""


class FileTree(Protocol):
    """Files below one root, by relpath."""

    uri: str
    name: str  # last segment of the root
    only: str  # relpath of the single file the user named, or ""
    remote: bool

    def whole(self) -> "FileTree":
        """Return the tree of the folder, without `only`."""

    def walk(self) -> Iterator[FileEntry]:
        """Yield every file, hidden ones too, sorted by relpath. Raises SourceError: unreadable folder."""

    def exists(self, relpath: str) -> bool:
        """Tell whether there is a readable file of that name."""

    def read(self, relpath: str, limit: int = MAX_FILE_BYTES) -> bytes:
        """Return the bytes. Raises SourceError: missing, no permission, longer than `limit`."""

    def open(self, relpath: str) -> IO[bytes]:
        """Open for reading and seeking. Raises SourceError."""

    def local(self, relpath: str) -> contextlib.AbstractContextManager[Path]:
        """Give a path on this machine, of a temporary copy if need be. Raises SourceError."""


def open_tree(path_or_uri: str) -> FileTree:
    """Open a local path, file:// or s3://. A single file is its folder with `only` set."""
    try:
        if path_or_uri.startswith("s3://"):
            return _bucket_tree(path_or_uri)
        path = split_file_uri(path_or_uri)
    except InvalidPath as error:
        raise SourceError(str(error)) from None
    if path.is_dir():
        return LocalTree(path)
    if path.is_file():
        return LocalTree(path.parent, only=path.name)
    raise SourceError(f"There is no folder or file {str(path)!r}: check the path of the source.")


def _bucket_tree(uri: str) -> "FileTree":
    parent, _, last = uri.rstrip("/").rpartition("/")
    if "." in last and parent != "s3:/":
        store = open_store(parent)
        if store.size(last) is not None:
            return StoreTree(store, only=last)
    return StoreTree(open_store(uri))


def extension(relpath: str) -> str:
    """Return the extension in lower case with its dot, "(hidden)" for hidden files, "(none)" without one."""
    if is_hidden(relpath):
        return "(hidden)"
    name = relpath.rpartition("/")[2]
    return "." + name.rpartition(".")[2].lower() if "." in name else "(none)"


def is_hidden(relpath: str) -> bool:
    """Tell whether a segment starts with a dot, or is the folder macOS adds to its archives."""
    return relpath.startswith((".", "__MACOSX/")) or "/." in relpath or "/__MACOSX/" in relpath


def is_image(relpath: str) -> bool:
    """Tell whether the name says picture (bytes decide later)."""
    return extension(relpath) in IMAGE_EXTENSIONS


class LocalTree:
    """A folder of this machine. Links are followed; a link to a folder above itself is not, and is told.

    A name that is not UTF-8 shows its odd bytes as \\xNN, and can be read under that relpath.
    """

    remote = False

    def __init__(self, root: Path, only: str = "") -> None:
        self.root, self.only = root, only
        self.uri = (root / only).as_uri()
        self.name = Path(only).stem if only else root.resolve().name

    def whole(self) -> "LocalTree":
        return LocalTree(self.root)

    def walk(self) -> Iterator[FileEntry]:
        if self.only:
            yield FileEntry(self.only)
            return
        yield from self._walk(os.fsencode(self.root), "", ())

    def _walk(self, folder: bytes, prefix: str, above: tuple[tuple[int, int], ...]) -> Iterator[FileEntry]:
        try:
            status = os.stat(folder)  # noqa: PTH116 - a bytes path
            with os.scandir(folder) as entries:
                found = [(_shown(entry.name), _is_folder(entry), entry) for entry in entries]
        except OSError as error:
            raise SourceError(
                f"The folder {prefix or self.root} cannot be listed: {error.strerror}."
            ) from None
        identity = (status.st_dev, status.st_ino)
        # A folder sorts as "name/", which makes the walk's order the order of whole relpaths.
        found.sort(key=lambda one: one[0] + "/" if one[1] else one[0])
        for name, is_folder, entry in found:
            if not is_folder:
                yield FileEntry(prefix + name, _fault(entry))
                continue
            target = entry.stat()
            if (target.st_dev, target.st_ino) in (*above, identity):
                yield FileEntry(prefix + name, "is a link to a folder that contains it")
                continue
            yield from self._walk(entry.path, f"{prefix}{name}/", (*above, identity))

    def exists(self, relpath: str) -> bool:
        return os.path.isfile(self._native(relpath))  # noqa: PTH113 - a bytes path

    def read(self, relpath: str, limit: int = MAX_FILE_BYTES) -> bytes:
        with self.open(relpath) as file:
            size = os.fstat(file.fileno()).st_size
            if size > limit:
                raise SourceError(f"{relpath} has {size} bytes; the most a file may have here is {limit}.")
            return file.read()

    def open(self, relpath: str) -> IO[bytes]:
        native = self._native(relpath)
        try:
            if not stat.S_ISREG(os.stat(native).st_mode):  # noqa: PTH116 - bytes; a FIFO would wait
                raise SourceError(f"{relpath} is not a regular file.")
            return open(native, "rb")  # noqa: PTH123 - a bytes path
        except FileNotFoundError:
            raise SourceError(f"There is no file {relpath}.") from None
        except OSError as error:
            raise SourceError(f"{relpath} cannot be read: {error.strerror}.") from None

    @contextlib.contextmanager
    def local(self, relpath: str) -> Iterator[Path]:
        self.open(relpath).close()
        yield Path(os.fsdecode(self._native(relpath)))

    def _native(self, relpath: str) -> bytes:
        _check_relpath(relpath)
        root = os.fsencode(self.root) + b"/"
        plain = root + os.fsencode(relpath)
        if "\\x" in relpath and not os.path.lexists(plain):
            odd = re.sub(rb"\\x([89a-f][0-9a-f])", lambda m: bytes([int(m[1], 16)]), relpath.encode())
            return root + odd
        return plain


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


def _is_folder(entry: "os.DirEntry[bytes]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # links that lead to each other
        return False


def _fault(entry: "os.DirEntry[bytes]") -> str:
    try:
        if entry.is_file():
            return ""
    except OSError:
        return "is a link to nothing"
    broken = entry.is_symlink() and not os.path.exists(entry.path)  # noqa: PTH110 - a bytes path
    return "is a link to nothing" if broken else "is not a regular file"


def _check_relpath(relpath: str) -> None:
    if not relpath or relpath.startswith("/") or "\0" in relpath or ".." in relpath.split("/"):
        raise SourceError(f"{relpath!r} is no path inside the source.")


class StoreTree:
    """Objects of a bucket below a prefix. Large files are read by range or copied to a temporary file."""

    remote = True

    def __init__(self, store: Store, only: str = "") -> None:
        self.store, self.only = store, only
        self.uri = store.locate(only) if only else store.uri
        self.name = only.rpartition(".")[0] if only else store.uri.rpartition("/")[2]

    def whole(self) -> "StoreTree":
        return StoreTree(self.store)

    def walk(self) -> Iterator[FileEntry]:
        if self.only:
            yield FileEntry(self.only)
            return
        # SeaweedFS lists folder by folder ("pug/1.jpg" before "pug-dog/1.jpg"), other servers by key. Only
        # the paths are held to sort them, 100 bytes each. A key that ends in "/" stands for an empty folder.
        for path in sorted(entry.path for entry in self.store.list("") if not entry.path.endswith("/")):
            yield FileEntry(path)

    def exists(self, relpath: str) -> bool:
        try:
            return self.store.size(relpath) is not None
        except InvalidPath:
            return False

    def read(self, relpath: str, limit: int = MAX_FILE_BYTES) -> bytes:
        try:
            size = self.store.size(relpath)
            if size is None:
                raise SourceError(f"There is no file {relpath}.")
            if size > limit:
                raise SourceError(f"{relpath} has {size} bytes; the most a file may have here is {limit}.")
            return self.store.read(relpath)
        except InvalidPath as error:
            raise SourceError(str(error)) from None
        except NotFound:
            raise SourceError(f"There is no file {relpath}.") from None

    def open(self, relpath: str) -> IO[bytes]:
        if not self.exists(relpath):
            raise SourceError(f"There is no file {relpath}.")
        filesystem, root = self.store.filesystem()
        return cast(IO[bytes], filesystem.open_input_file(f"{root}/{relpath}"))

    @contextlib.contextmanager
    def local(self, relpath: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="dogflow-source-") as folder:
            path = Path(folder) / ("copy" + Path(relpath).suffix)
            with self.open(relpath) as source, path.open("wb") as target:
                while block := source.read(COPY_BYTES):
                    target.write(block)
            yield path


def read_in_order(
    read: Callable[[Any], bytes | SourceError], keys: Sequence[Any], parallel: bool
) -> Iterator[bytes | SourceError]:
    """Yield read(key) for each key, in order; in `parallel` with up to READ_AHEAD reads in flight."""
    if not parallel or len(keys) < 2:
        yield from map(read, keys)
        return
    with ThreadPoolExecutor(READ_THREADS, thread_name_prefix="source-read") as pool:
        pending: list[Future[bytes | SourceError]] = []
        for key in keys:
            pending.append(pool.submit(read, key))
            if len(pending) == READ_AHEAD:
                yield pending.pop(0).result()
        for future in pending:
            yield future.result()
