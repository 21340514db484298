"""A store in a local folder.

Durability: a write goes to a hidden file in the target's own folder, is fsynced, and only then gets its name
by `rename` (write) or `link` (create: the kernel refuses a name that exists, so one racing writer wins). The
folder is fsynced after that. So a name never stands for half an object, not even after a power cut, and an
acknowledged object stays. The two fsyncs cost about a millisecond on an SSD, against shards of many MB. A
killed writer leaves at most a hidden file, which no listing shows and `sweep` removes.
"""

import errno
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from components.data.storage import (
    TEMPORARY_PREFIX,
    AccessDenied,
    DiskFull,
    Entry,
    InvalidPath,
    NotFound,
    StorageError,
    Store,
    check_key,
)

if TYPE_CHECKING:
    import pyarrow.fs

FULL = (errno.ENOSPC, errno.EDQUOT)
DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class LocalFolder(Store):
    """Objects are the files below `root`, which need not exist yet."""

    def __init__(self, root: Path):
        self.root = root
        self.uri = root.as_uri()

    def read(self, path: str) -> bytes:
        with self._errors(path):
            return self._file(path).read_bytes()

    def write(self, path: str, data: bytes) -> None:
        target = self._file(path)
        with self._errors(path), _temporary_file(target, data) as temporary:
            temporary.replace(target)
            _sync_folder(target.parent)

    def create(self, path: str, data: bytes) -> bool:
        target = self._file(path)
        with self._errors(path):
            if target.exists():  # the usual case of a resumed step; spares the write
                return False
            with _temporary_file(target, data) as temporary:
                try:
                    os.link(temporary, target)
                except FileExistsError:
                    return False
                except OSError as error:
                    if error.errno in NO_LINKS and os.access(target.parent, os.W_OK):
                        raise StorageError(
                            f"The file system of {self.uri} has no hard links, so two writers could not be "
                            "told apart. Use a folder on another one (ext4, xfs, btrfs, apfs, nfs) or s3://."
                        ) from None
                    raise
            _sync_folder(target.parent)
        return True

    def size(self, path: str) -> int | None:
        target = self._file(path)
        try:
            with self._errors(path):
                status = target.stat()
        except NotFound:
            return None
        return None if target.is_dir() else status.st_size

    def list(self, prefix: str = "") -> Iterator[Entry]:
        prefix = prefix.rstrip("/")
        top = self._file(prefix) if prefix else self.root
        with self._errors(prefix):
            found = list(_walk(top, f"{prefix}/" if prefix else "", ()))
        # The order of S3: by the bytes of the whole key, in which "a.b" comes before "a/b".
        yield from sorted(found, key=lambda entry: os.fsencode(entry.path))

    def delete(self, path: str) -> None:
        target = self._file(path)
        try:
            with self._errors(path):
                target.unlink(missing_ok=True)
        except NotFound:
            return

    def filesystem(self) -> "tuple[pyarrow.fs.FileSystem, str]":
        import pyarrow.fs

        return pyarrow.fs.LocalFileSystem(), str(self.root)

    def sweep(self, older_than_s: float) -> int:
        """Remove what killed writers left behind at least `older_than_s` ago; return the bytes freed."""
        freed, limit = 0, time.time() - older_than_s
        for file in self.root.rglob(f"{TEMPORARY_PREFIX}*"):
            with suppress(FileNotFoundError):
                status = file.stat()
                if status.st_mtime <= limit:
                    file.unlink()
                    freed += status.st_size
        return freed

    def _file(self, path: str) -> Path:
        return self.root / check_key(path)

    @contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        """Turn an OSError into a sentence."""
        try:
            yield
        except OSError as error:
            raise _explain(error, self.locate(path)) from None


@contextmanager
def _temporary_file(target: Path, data: bytes) -> Iterator[Path]:
    """Give a durable hidden file with `data` beside `target`, removed at the end if it still is there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.parent / f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot sync a folder
            raise
    finally:
        os.close(descriptor)


def _walk(folder: Path, prefix: str, above: tuple[tuple[int, int], ...]) -> Iterator[Entry]:
    """Yield the files below `folder`, through links to folders but not in circles. No folder, no files."""
    try:
        status = folder.stat()
        children = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    here = (status.st_dev, status.st_ino)
    if here in above:
        return
    for child in children:
        if child.name.startswith(TEMPORARY_PREFIX):
            continue
        with suppress(FileNotFoundError):  # deleted since, or a link to nowhere
            if child.is_dir():
                yield from _walk(Path(child.path), f"{prefix}{child.name}/", (*above, here))
            elif child.is_file():
                seen = child.stat()
                modified = datetime.fromtimestamp(seen.st_mtime, UTC)
                yield Entry(prefix + child.name, seen.st_size, modified)


def _explain(error: OSError, uri: str) -> StorageError:
    if isinstance(error, FileNotFoundError):
        return NotFound(f"There is no {uri}.")
    if error.errno in FULL:
        return DiskFull(
            f"The disk is full: {uri} was not written. Free some space (`dogflow store gc` removes what no "
            "dataset in use names) and run the same command again."
        )
    if error.errno in DENIED:
        return AccessDenied(
            f"The file system does not allow access to {uri} ({error.strerror}): check its owner and mode."
        )
    if isinstance(error, IsADirectoryError):
        return NotFound(f"{uri} is a folder, not a file.")
    if isinstance(error, (NotADirectoryError, FileExistsError)):
        return NotFound(f"There is no {uri}: a part of its path is a file.")
    if error.errno == errno.ENAMETOOLONG:
        return InvalidPath(f"A name in {uri} is too long for the file system; shorten it.")
    return StorageError(f"{uri} cannot be read or written ({error.strerror}).")
