"""Where datasets live: one `Store` over a local folder (`file://`) or a bucket (`s3://`).

Paths are keys: relative, posix, without empty, "." or ".." segments, and no key is a folder of another one.
Both backends promise the same:

* `write` and `create` are atomic. A reader sees the old bytes, the new bytes or nothing, whatever is killed.
* `create` has exactly one winner among racing threads, processes and machines.
* What was acknowledged is durable: local files are fsynced before they get their name (see `local_store`),
  S3 servers acknowledge after they stored.
* A store that is away for a while is waited for, up to `DOGFLOW_STORE_TIMEOUT_S` seconds (default 120).
* Errors are sentences with the URI and the fix. They never hold credentials.

Do not use a store across `fork`: the S3 client owns threads. Threads may share one; processes open their own.
"""

import logging
import os
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    import pyarrow.fs

LOG = logging.getLogger("dogflow.storage")
TIMEOUT_VARIABLE = "DOGFLOW_STORE_TIMEOUT_S"
DEFAULT_TIMEOUT_S = 120.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 5.0
TEMPORARY_PREFIX = ".dogflow-tmp-"  # files of writes in progress; never listed, never a key

Result = TypeVar("Result")


class StorageError(Exception):
    """A store could not do what was asked. The message is a sentence with the URI and the fix."""


class NotFound(StorageError):
    """No such object, or no such bucket."""


class AccessDenied(StorageError):
    """The credentials or the file permissions do not allow it; `code` is S3's name for the reason, if any."""

    def __init__(self, message: str, code: str = ""):
        super().__init__(message)
        self.code = code


class Unavailable(StorageError):
    """The store did not answer, or kept failing, for `DOGFLOW_STORE_TIMEOUT_S` seconds."""


class DiskFull(StorageError):
    """The store has no room for the object. Nothing was written."""


class InvalidPath(StorageError, ValueError):
    """A key or a URI that no store accepts."""


@dataclass(frozen=True)
class Entry:
    """One object of a listing."""

    path: str  # key relative to the store's root
    size: int  # bytes
    modified: datetime  # with time zone (UTC)


class Store(ABC):
    """Objects below one root. Made by `open_store`; cheap, thread-safe, not to be shared across `fork`."""

    uri: str  # normal form without a trailing slash: "file:///dir", "s3://bucket/prefix"

    @abstractmethod
    def read(self, path: str) -> bytes:
        """Return all bytes of an object. Raises NotFound."""

    @abstractmethod
    def write(self, path: str, data: bytes) -> None:
        """Put an object, replacing one of that name atomically. Raises DiskFull, AccessDenied."""

    @abstractmethod
    def create(self, path: str, data: bytes) -> bool:
        """Put an object if there is none of that name: True when this call made it, else False."""

    @abstractmethod
    def size(self, path: str) -> int | None:
        """Return the bytes of an object, None when there is none."""

    @abstractmethod
    def list(self, prefix: str = "") -> Iterator[Entry]:
        """Yield all objects below the folder `prefix` ("" is the root), at any depth, in key order."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove an object; one that is not there is fine."""

    @abstractmethod
    def filesystem(self) -> "tuple[pyarrow.fs.FileSystem, str]":
        """Return a pyarrow filesystem and the root's path in it, for reads of Parquet columns by range."""

    def locate(self, path: str) -> str:
        """Return the URI of an object, for messages and manifests."""
        return f"{self.uri}/{path}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.uri!r})"


def open_store(uri: str) -> Store:
    """Open "s3://bucket/prefix", "file:///dir" or a plain path. Creates nothing and contacts nobody.

    S3 reads AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION (and AWS_SESSION_TOKEN).
    Raises InvalidPath for a URI that means nothing, StorageError when a variable is missing.
    """
    if uri.startswith("s3://"):
        from components.data.endpoint import read_endpoint
        from components.data.s3_store import S3Bucket

        bucket, prefix = split_s3_uri(uri)
        return S3Bucket(read_endpoint(), bucket, prefix)
    from components.data.local_store import LocalFolder

    return LocalFolder(split_file_uri(uri))


def create_bucket(uri: str) -> None:
    """Create the bucket of an s3:// URI (minio SDK); one that exists is fine. file:// needs none."""
    if uri.startswith("s3://"):
        from components.data.bucket import make_bucket
        from components.data.endpoint import read_endpoint

        bucket, _ = split_s3_uri(uri)
        make_bucket(read_endpoint(), bucket)
    else:
        split_file_uri(uri)


def split_s3_uri(uri: str) -> tuple[str, str]:
    """Return (bucket, prefix without slashes at its ends). Raises InvalidPath."""
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    legal = bucket.replace("-", "").replace(".", "")
    if not (3 <= len(bucket) <= 63 and legal.isascii() and legal.isalnum() and bucket == bucket.lower()):
        raise InvalidPath(
            f"{uri!r} names no valid bucket: write s3://BUCKET/PREFIX, with a bucket of 3 to 63 lower-case "
            "letters, digits, dots and hyphens."
        )
    prefix = prefix.rstrip("/")
    if prefix:
        check_key(prefix)
    return bucket, prefix


def split_file_uri(uri: str) -> Path:
    """Return the absolute folder of a file:// URI or a plain path. Raises InvalidPath."""
    scheme, separator, _ = uri.partition("://")
    if not separator:
        if not uri.strip() or "\0" in uri:
            raise InvalidPath(
                "An empty path is no store: give a folder, file:///FOLDER or s3://BUCKET/PREFIX."
            )
        return Path(uri).expanduser().absolute()
    if scheme != "file":
        raise InvalidPath(
            f"{uri!r} has the unknown scheme {scheme!r}: use file:///FOLDER or s3://BUCKET/PREFIX."
        )
    parts = urlsplit(uri)
    if (
        parts.netloc not in ("", "localhost")
        or not parts.path.startswith("/")
        or parts.query
        or parts.fragment
    ):
        raise InvalidPath(
            f"{uri!r} is no local folder: write file:///FOLDER (three slashes; %3F for a ?, %23 for a #)."
        )
    return Path(unquote(parts.path))


def check_key(path: str) -> str:
    """Return `path` if it is a key of every store, else raise InvalidPath."""
    problem = ""
    segments = path.split("/")
    if not path or path.startswith("/"):
        problem = "is empty or absolute; give a path relative to the store"
    elif any(segment in ("", ".", "..") for segment in segments):
        problem = 'has an empty, "." or ".." segment; give a plain relative path'
    elif any(ord(character) < 32 or character in "\x7f\\" for character in path):
        problem = "has a backslash or a control character; rename the file"
    elif any(segment.startswith(TEMPORARY_PREFIX) for segment in segments):
        problem = f"has a segment that starts with {TEMPORARY_PREFIX!r}, which is kept for writes in progress"
    else:
        try:
            path.encode()
        except UnicodeEncodeError:
            problem = "is not valid UTF-8; rename the file"
    if problem:
        raise InvalidPath(f"The path {path!r} {problem}.")
    return path


def timeout_s() -> float:
    """Return how long a failing store is waited for, from the environment. Raises StorageError."""
    text = os.environ.get(TIMEOUT_VARIABLE, "")
    try:
        seconds = float(text) if text else DEFAULT_TIMEOUT_S
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 86400:
        raise StorageError(f"{TIMEOUT_VARIABLE}={text!r} is no number of seconds between 0 and 86400.")
    return seconds


class TransientFault(Exception):
    """Raised inside `retry` by a call that may work later; `error` is what to raise when time is up."""

    def __init__(self, error: StorageError, patience_s: float = float("inf")):
        super().__init__(str(error))
        self.error, self.patience_s = error, patience_s


def retry(call: Callable[[], Result], limit_s: float | None = None) -> Result:
    """Call until it works, waiting 0.1 s, 0.2 s ... 5 s (with jitter) between tries.

    A TransientFault is retried until `limit_s` (None: `DOGFLOW_STORE_TIMEOUT_S`) or its own patience,
    whichever is shorter, has passed since the first try; then its `error` is raised. Everything else passes
    through.
    """
    limit_s = timeout_s() if limit_s is None else limit_s
    start, wait_s, told = time.monotonic(), FIRST_WAIT_S, False
    while True:
        try:
            return call()
        except TransientFault as fault:
            left_s = start + min(limit_s, fault.patience_s) - time.monotonic()
            if left_s <= 0:
                raise fault.error from None
            if not told and wait_s > 4 * FIRST_WAIT_S:
                told = True
                LOG.warning("%s Trying again for up to %.0f s.", fault.error, left_s)
            # Full jitter would let a wait of nearly 0 hammer a store that is just starting; half is enough
            # to spread the threads of a step.
            time.sleep(min(left_s, wait_s * random.uniform(0.5, 1.0)))
            wait_s = min(LONGEST_WAIT_S, 2 * wait_s)
