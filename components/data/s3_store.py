"""A store in an S3 bucket: objects through obstore, column reads through pyarrow."""

import math
import secrets
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from components.data.endpoint import Endpoint
from components.data.s3_faults import explain, http_status
from components.data.storage import AccessDenied, Entry, NotFound, Store, check_key, retry, timeout_s

if TYPE_CHECKING:
    import pyarrow.fs

Result = TypeVar("Result")

MULTIPART_BYTES = 16 * 1024**2  # larger writes go up in parts of this size, each with its own time limit
PARALLEL_PARTS = 4
CONNECT_TIMEOUT_S, STALL_TIMEOUT_S, UPLOAD_TIMEOUT_S = 5, 30, 120
WRITER_KEY = "dogflow-writer"  # user metadata that tells whose `create` made an object


class S3Bucket(Store):
    """Objects of a bucket below a prefix. Never creates the bucket (`create_bucket` does).

    `limit_s` is how long a failing server is waited for (None: `DOGFLOW_STORE_TIMEOUT_S`).
    """

    def __init__(self, endpoint: Endpoint, bucket: str, prefix: str, limit_s: float | None = None):
        self.uri = f"s3://{bucket}/{prefix}" if prefix else f"s3://{bucket}"
        self._endpoint, self._bucket, self._prefix, self._limit_s = endpoint, bucket, prefix, limit_s
        # Uploads need a limit for the whole request; downloads only one for a stalled connection, so that a
        # large object on a slow line is not cut off.
        upload = {"timeout": timedelta(seconds=UPLOAD_TIMEOUT_S)}
        self._uploads = _client(self._endpoint, bucket, prefix, upload)
        stall = {"read_timeout": timedelta(seconds=STALL_TIMEOUT_S), "timeout": timedelta(days=1)}
        self._downloads = _client(self._endpoint, bucket, prefix, stall)
        self._bucket_seen = False
        self._filesystem: Any = None
        self._lock = threading.Lock()

    def read(self, path: str) -> bytes:
        check_key(path)
        return self._call(path, lambda: obstore.get(self._downloads, path).bytes().to_bytes())

    def write(self, path: str, data: bytes) -> None:
        check_key(path)
        self._require_bucket()
        parts = len(data) > MULTIPART_BYTES

        def put() -> None:
            obstore.put(
                self._uploads,
                path,
                data,
                mode="overwrite",
                use_multipart=parts,
                chunk_size=MULTIPART_BYTES,
                max_concurrency=PARALLEL_PARTS,
            )

        self._call(path, put, writes=True)

    def create(self, path: str, data: bytes) -> bool:
        """Put-if-absent. A put whose answer was lost may have won: the object's metadata says whose it is."""
        check_key(path)
        self._require_bucket()
        writer = secrets.token_hex(16)
        tries = 0

        def put() -> bool:
            nonlocal tries
            tries += 1
            try:
                obstore.put(self._uploads, path, data, mode="create", attributes={WRITER_KEY: writer})
            except AlreadyExistsError as error:
                if http_status(error) == 409:  # AWS: another conditional put is under way, outcome open
                    raise
                return tries > 1 and self._writer(path) == writer
            return True

        return self._call(path, put, writes=True)

    def size(self, path: str) -> int | None:
        check_key(path)
        try:
            return self._call(path, lambda: obstore.head(self._downloads, path)["size"])
        except NotFound:
            self._require_bucket()  # the answer to HEAD does not tell a missing bucket from a missing object
            return None

    def list(self, prefix: str = "") -> Iterator[Entry]:
        prefix = prefix.rstrip("/")
        if prefix:
            check_key(prefix)
        found = self._call(prefix, lambda: obstore.list(self._downloads, prefix or None).collect())
        # S3 promises the order of the keys' bytes, but SeaweedFS walks its folders: "a/b" before "a.b".
        for meta in sorted(found, key=lambda meta: meta["path"].encode()):
            yield Entry(meta["path"], meta["size"], meta["last_modified"])

    def delete(self, path: str) -> None:
        check_key(path)
        try:
            self._call(path, lambda: obstore.delete(self._downloads, path))
        except NotFound:
            self._require_bucket()

    def filesystem(self) -> "tuple[pyarrow.fs.FileSystem, str]":
        with self._lock:
            if self._filesystem is None:
                self._filesystem = _arrow_filesystem(self._endpoint)
        return self._filesystem, f"{self._bucket}/{self._prefix}".rstrip("/")

    def _writer(self, path: str) -> str:
        attributes = obstore.get(self._downloads, path, options={"head": True}).attributes
        return str(attributes.get(WRITER_KEY, ""))

    def _require_bucket(self) -> None:
        """Refuse to write to a bucket that is not there: some servers would create it, misspelt or not."""
        if self._bucket_seen:
            return
        try:
            self._call("", lambda: next(obstore.list(self._downloads), None))
        except AccessDenied as error:
            if error.code not in ("AccessDenied", ""):
                raise
            # Credentials that may write but not list are fine; the write itself will tell.
        self._bucket_seen = True

    def _call(self, path: str, call: Callable[[], Result], writes: bool = False) -> Result:
        def attempt() -> Result:
            try:
                return call()
            except (BaseError, OSError) as error:
                uri = self.locate(path) if path else self.uri
                raise explain(error, uri, self._endpoint, writes) from None

        return retry(attempt, self._limit_s)


def _client(endpoint: Endpoint, bucket: str, prefix: str, limits: dict[str, timedelta]) -> S3Store:
    session: dict[str, Any] = {"session_token": endpoint.session_token} if endpoint.session_token else {}
    options: dict[str, Any] = {
        "allow_http": not endpoint.secure,
        "connect_timeout": timedelta(seconds=CONNECT_TIMEOUT_S),
        **limits,
    }
    if endpoint.loopback:
        # An HTTP_PROXY of the environment must not see the embedded store's traffic; naming a proxy with this
        # host excluded is the client's only way to switch the environment's off.
        options |= {"proxy_url": endpoint.url, "proxy_excludes": "localhost,127.0.0.1,::1"}
    return S3Store(
        bucket,
        prefix=prefix or None,
        endpoint=endpoint.url,
        access_key_id=endpoint.access_key,
        secret_access_key=endpoint.secret_key,
        region=endpoint.region,
        virtual_hosted_style_request=False,
        client_options=options,  # type: ignore[arg-type]
        retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=1)},  # `retry` does it, and logs
        **session,
    )


def _arrow_filesystem(endpoint: Endpoint) -> "pyarrow.fs.FileSystem":
    import pyarrow.fs

    # The SDK waits 25 ms, 50 ms ... between tries, so this many tries span the time limit.
    tries = 2 + max(0, math.ceil(math.log2(max(timeout_s(), 0.025) / 0.025)))
    return pyarrow.fs.S3FileSystem(
        endpoint_override=endpoint.address,
        scheme="https" if endpoint.secure else "http",
        region=endpoint.region,
        access_key=endpoint.access_key,
        secret_key=endpoint.secret_key,
        session_token=endpoint.session_token or None,
        connect_timeout=CONNECT_TIMEOUT_S,
        request_timeout=STALL_TIMEOUT_S,
        retry_strategy=pyarrow.fs.AwsDefaultS3RetryStrategy(max_attempts=tries),
    )
