"""The embedded S3 server: SeaweedFS from its wheel, on loopback, with credentials of its own.

`HOME/store/` holds `data/` (the objects), `credentials.json` and `s3.json` (0600), `server.json` (process id
and port), `log/` (rotated, at most some 100 MB) and `lock`. `up`, `down` and `status` may be called at any
time by any process; a lock lets one act after the other.
"""

import fcntl
import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pipelines.store import ports
from pipelines.store.credentials import Credentials, ensure_credentials, load_credentials, write_private

BUCKET = "dogflow"
EMBEDDED_DATA_ROOT = f"s3://{BUCKET}/data"
REGION = "us-east-1"
PROBE = ".dogflow/ready"
READY_WAIT_S = 120.0  # a busy machine with much data; usually one second
LOCK_WAIT_S = 120.0
SPARE_BYTES = 128 * 1024**2  # below this the server cannot make a volume for new objects
STARTS = 3  # another process may take one of the free ports between the look and the start


class StoreServerError(RuntimeError):
    """The embedded store could not do what was asked. The message is a sentence with the fix."""


@dataclass(frozen=True)
class StoreInfo:
    """Where the embedded store is. Its repr shows no secret."""

    endpoint_url: str
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    region: str
    port: int
    pid: int  # 0 when it is stopped
    data_dir: Path
    running: bool
    rss_bytes: int = 0  # memory that the server holds


def up(home: Path, port: int = 0) -> StoreInfo:
    """Start the store of `home` if it does not run; return where it is once a put has worked.

    Keeps data, credentials and, if it is free, the port of the last time. `port` is that of S3, and the first
    of nine consecutive ones; 0 takes any.
    Raises StoreServerError: port taken, binary missing, disk full, no start.
    """
    folder = _folder(home)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreServerError(f"The folder {folder} cannot be made ({error.strerror}).") from None
    with _locked(folder):
        if load_credentials(folder) is None:
            _stop(folder)  # somebody deleted the files under a running server: nobody can use it any more
        credentials = ensure_credentials(folder)
        running = _running(folder, credentials, search=True)
        if running is None:
            return _start(folder, credentials, port)
        if port not in (0, running.port):
            raise StoreServerError(
                f"The store already runs on port {running.port}: to move it to {port}, run "
                "`dogflow store down` first."
            )
        _note(folder, running.pid, running.port)  # the note may be lost, or of another start
        _wait_until_ready(folder, running, lambda: _running(folder, credentials) is not None)
        return running


def down(home: Path) -> bool:
    """Stop the store of `home`; return whether it ran. Objects, credentials and port are kept."""
    folder = _folder(home)
    if not folder.is_dir():
        return False
    with _locked(folder):
        return _stop(folder)


def status(home: Path) -> StoreInfo | None:
    """Return the store of `home`, running or not; None when `up` was never called there."""
    folder = _folder(home)
    credentials = load_credentials(folder)
    if credentials is None:
        return None
    return _running(folder, credentials) or _info(folder, credentials, _state(folder)[1])


def environment(info: StoreInfo) -> dict[str, str]:
    """Return the AWS_* variables with which every S3 client, `open_store` too, reaches the store. Secret."""
    return {
        "AWS_ENDPOINT_URL": info.endpoint_url,
        "AWS_ACCESS_KEY_ID": info.access_key,
        "AWS_SECRET_ACCESS_KEY": info.secret_key,
        "AWS_REGION": info.region,
    }


def _folder(home: Path) -> Path:
    return home.expanduser().absolute() / "store"


def _start(folder: Path, credentials: Credentials, port: int) -> StoreInfo:
    """Start the server on a free block of ports and wait until it stores objects."""
    from pipelines.store import process

    _require_space(folder)
    failure = ""
    for _ in range(STARTS):
        chosen = _choose_port(port, _state(folder)[1] if not failure else 0)
        try:
            server = process.start(folder, chosen, credentials)
        except (process.BinaryMissing, OSError) as error:
            raise StoreServerError(str(error)) from None
        _note(folder, server.pid, chosen)
        info = _info(folder, credentials, chosen, server.pid)
        try:
            _wait_until_ready(folder, info, lambda running=server: running.poll() is None)  # type: ignore[misc]
        except StoreServerError as error:
            failure = str(error)
            if _stop(folder):
                raise
            continue  # it ended by itself
        except BaseException:  # Ctrl-C while waiting: leave nothing half-started behind
            _stop(folder)
            raise
        return _running(folder, credentials) or info
    raise StoreServerError(failure)


def _stop(folder: Path) -> bool:
    """Stop the server of `folder`, noted down or not; return whether there was one."""
    from pipelines.store import process

    server = process.find(folder, _state(folder)[0]) or process.find(folder)
    if server is not None:
        process.stop(server)
    return server is not None


def _choose_port(wanted: int, last: int) -> int:
    if not wanted:
        try:
            return ports.find_block(preferred=last)
        except OSError as error:
            raise StoreServerError(f"The store cannot start: {error}.") from None
    if not 1024 <= wanted <= ports.HIGHEST:
        raise StoreServerError(f"Port {wanted} is not possible: choose one from 1024 to {ports.HIGHEST}.")
    taken = ports.taken_ports(wanted)
    if taken:
        raise StoreServerError(
            f"The store needs the ports {wanted} to {wanted + ports.IN_A_ROW - 1} and "
            f"{wanted + ports.ADMIN_GRPC_OFFSET}, but {', '.join(map(str, taken))} in use: choose another "
            "--port, or none to let it find free ones."
        )
    return wanted


def _require_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < SPARE_BYTES:
        raise StoreServerError(
            f"The disk of {folder} is full: {free // 1024**2} MB are free, the store needs "
            f"{SPARE_BYTES // 1024**2} MB. Free some space, or set DOGFLOW_HOME to a folder on a larger disk."
        )


def _wait_until_ready(folder: Path, info: StoreInfo, alive: Callable[[], bool]) -> None:
    """Wait until the bucket exists and an object could be put. Raises StoreServerError."""
    from components.data.bucket import make_bucket
    from components.data.endpoint import Endpoint
    from components.data.s3_store import S3Bucket
    from components.data.storage import DiskFull, StorageError
    from pipelines.store import process

    endpoint = Endpoint(info.endpoint_url, info.access_key, info.secret_key, info.region)
    bucket = S3Bucket(endpoint, BUCKET, "", limit_s=0)
    deadline, last = time.monotonic() + READY_WAIT_S, "it accepts no connections"
    while time.monotonic() < deadline:
        if not alive():
            raise StoreServerError(f"The S3 server ended while it started. {_last_words(folder)}")
        try:
            if ports.answers(info.port) and process.is_joined(info.port):
                make_bucket(endpoint, BUCKET, limit_s=0)
                bucket.write(PROBE, b"ready")
                bucket.delete(PROBE)
                return
        except DiskFull:
            _require_space(folder)
            last = "it answers 500 to writes (is its disk full?)"
        except StorageError as error:
            last = str(error)
        time.sleep(0.05)
    words = _last_words(folder)
    raise StoreServerError(f"The S3 server did not get ready in {READY_WAIT_S:.0f} s: {last}. {words}")


def _last_words(folder: Path) -> str:
    """Return where the log is, and the last error in it."""
    log = folder / "log"
    lines: list[str] = []
    for file in (folder / "weed.out", log / "weed.ERROR", log / "weed.FATAL"):
        if file.is_file():
            lines += file.read_text(errors="replace").strip().splitlines()[-1:]
    return f"Its log is {log}" + (f"; the last error there: {lines[-1][:300]}" if lines else ".")


def _running(folder: Path, credentials: Credentials, search: bool = False) -> StoreInfo | None:
    """Return the running server. `search` looks at all processes, for one whose id was never noted down."""
    from pipelines.store import process

    pid = _state(folder)[0]
    server = process.find(folder, pid) if pid else None
    if server is None and search:
        server = process.find(folder)
    if server is None:
        return None
    return _info(folder, credentials, process.port_of(server), server.pid, server.memory_info().rss)


def _info(folder: Path, credentials: Credentials, port: int, pid: int = 0, rss_bytes: int = 0) -> StoreInfo:
    return StoreInfo(
        endpoint_url=f"http://{ports.LOOPBACK}:{port}",
        access_key=credentials.access_key,
        secret_key=credentials.secret_key,
        region=REGION,
        port=port,
        pid=pid,
        data_dir=folder / "data",
        running=pid != 0,
        rss_bytes=rss_bytes,
    )


def _state(folder: Path) -> tuple[int, int]:
    """Return (process id, port) of the last start, zeros when there was none or the note is damaged."""
    try:
        noted = json.loads((folder / "server.json").read_text())
        return int(noted["pid"]), int(noted["port"])
    except (OSError, ValueError, TypeError, KeyError):
        return 0, 0


def _note(folder: Path, pid: int, port: int) -> None:
    write_private(folder / "server.json", json.dumps({"pid": pid, "port": port}))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the store's lock; wait for whoever holds it. The kernel frees the lock of a killed process."""
    with (folder / "lock").open("a") as file:
        deadline = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreServerError(
                        f"Another `dogflow store` command has held {folder / 'lock'} for "
                        f"{LOCK_WAIT_S:.0f} s; end it."
                    ) from None
                time.sleep(0.05)
        yield
