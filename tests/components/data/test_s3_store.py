"""What only an S3 server does: credentials, buckets, outages, lost answers."""

import logging
import socket
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import obstore
import pytest
from obstore.exceptions import GenericError

from components.data.storage import (
    AccessDenied,
    NotFound,
    StorageError,
    Unavailable,
    create_bucket,
    open_store,
    retry,
)
from pipelines.store.server import StoreInfo, down, environment, up


@pytest.fixture
def uri(s3_env: StoreInfo) -> str:
    return f"s3://dogflow/test-{uuid.uuid4().hex}"


@pytest.fixture
def own_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StoreInfo]:
    """A server that this test may stop."""
    info = up(tmp_path)
    for name, value in environment(info).items():
        monkeypatch.setenv(name, value)
    yield info
    down(tmp_path)


def test_missing_variables_are_all_named(monkeypatch: pytest.MonkeyPatch):
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(StorageError, match="AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"):
        open_store("s3://dogflow/x")


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8333", "ftp://x", "http://user:word@127.0.0.1:1", "http://127.0.0.1/path"]
)
def test_an_endpoint_that_is_no_url_is_refused_without_being_repeated(s3_env, monkeypatch, url: str):
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    with pytest.raises(StorageError, match="AWS_ENDPOINT_URL must") as raised:
        open_store("s3://dogflow/x")
    assert "word" not in str(raised.value).replace("AWS_SECRET", "")


@pytest.mark.parametrize("variable", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_wrong_credentials_are_refused_at_once_by_every_call(s3_env, monkeypatch, uri: str, variable: str):
    monkeypatch.setenv(variable, "wrong-wrong-wrong")
    store = open_store(uri)
    started = time.monotonic()
    for call in (
        lambda: store.read("a"),
        lambda: store.write("a", b""),
        lambda: store.create("a", b""),
        lambda: store.size("a"),
        lambda: list(store.list()),
        lambda: store.delete("a"),
        lambda: create_bucket("s3://another-bucket"),
    ):
        with pytest.raises(AccessDenied, match="AWS_SECRET_ACCESS_KEY") as raised:
            call()
        assert raised.value.__cause__ is None
        assert "wrong-wrong" not in str(raised.value) and s3_env.secret_key not in str(raised.value)
    assert time.monotonic() - started < 5


def test_an_unknown_bucket_is_not_found_by_every_call_and_never_made(s3_env):
    store = open_store("s3://no-such-bucket/x")
    for call in (
        lambda: store.read("a"),
        lambda: store.write("a", b""),
        lambda: store.create("a", b""),
        lambda: store.size("a"),
        lambda: list(store.list()),
    ):
        with pytest.raises(NotFound, match="no bucket s3://no-such-bucket"):
            call()


def test_a_created_bucket_takes_objects_and_is_created_twice_without_harm(s3_env):
    create_bucket("s3://second-bucket/some/prefix")
    create_bucket("s3://second-bucket")
    open_store("s3://second-bucket").write("a", b"1")
    create_bucket("s3://second-bucket")
    assert open_store("s3://second-bucket").read("a") == b"1"


def test_no_secret_is_in_reprs_errors_or_logs(s3_env, uri, monkeypatch, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    store = open_store(uri)
    with pytest.raises(NotFound) as raised:
        store.read("nothing")
    monkeypatch.setenv("DOGFLOW_STORE_TIMEOUT_S", "2")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(Unavailable) as away:
        open_store(uri).read("a")
    texts = [
        repr(store),
        repr(vars(store).get("_endpoint")),
        str(raised.value),
        str(away.value),
        caplog.text,
        repr(s3_env),
    ]
    assert all(s3_env.secret_key not in text and s3_env.access_key not in text for text in texts)


def test_an_absent_store_is_unavailable_after_the_time_limit(s3_env, uri, monkeypatch, caplog):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("DOGFLOW_STORE_TIMEOUT_S", "1.5")
    store = open_store(uri)
    for call in (lambda: store.read("a"), lambda: store.write("a", b""), lambda: create_bucket(uri)):
        started = time.monotonic()
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1:9 does not answer"):
            call()
        assert 1.4 < time.monotonic() - started < 4
    assert "Trying again" in caplog.text


def test_a_server_that_accepts_and_says_nothing_does_not_hang_for_ever(s3_env, uri, monkeypatch):
    monkeypatch.setattr("components.data.s3_store.STALL_TIMEOUT_S", 1)
    monkeypatch.setattr("components.data.s3_store.UPLOAD_TIMEOUT_S", 1)
    monkeypatch.setenv("DOGFLOW_STORE_TIMEOUT_S", "1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        store = open_store(uri)
        started = time.monotonic()
        with pytest.raises(Unavailable, match="timed out"):
            store.read("a")
        assert time.monotonic() - started < 8


@pytest.mark.slow
def test_every_call_survives_a_store_that_is_away_for_seconds(own_server: StoreInfo, tmp_path: Path):
    store = open_store("s3://dogflow/outage")
    store.write("before", b"1" * 10_000)
    store.write("doomed", b"")
    filesystem, root = store.filesystem()
    calls = {
        "read": lambda: store.read("before") == b"1" * 10_000,
        "write": lambda: store.write("during", b"2") is None,
        "create": lambda: store.create("receipt", b"3"),
        "size": lambda: store.size("before") == 10_000,
        "list": lambda: "before" in [entry.path for entry in store.list()],
        "delete": lambda: store.delete("doomed") is None,
        "columns": lambda: filesystem.open_input_file(f"{root}/before").read() == b"1" * 10_000,
        "bucket": lambda: create_bucket("s3://dogflow") is None,
    }
    down(tmp_path)
    with ThreadPoolExecutor(len(calls)) as pool:
        pending = {name: pool.submit(call) for name, call in calls.items()}
        assert not wait(pending.values(), timeout=2).done  # nobody gives up, nobody succeeds
        up(tmp_path)
        assert {name: future.result() for name, future in pending.items()} == dict.fromkeys(calls, True)
    assert store.read("during") == b"2" and store.read("receipt") == b"3" and store.size("doomed") is None


def lose_answers(monkeypatch: pytest.MonkeyPatch, lost: int, before: bytes | None = None) -> list[int]:
    """Let the next `lost` puts reach the server (with `before`, that of another writer), the answers not."""
    put, calls = obstore.put, [0]

    def unlucky(store, path, data, **options):
        calls[0] += 1
        if calls[0] > lost:
            return put(store, path, data, **options)
        if before is not None:
            put(store, path, before)
        else:
            put(store, path, data, **options)
        raise GenericError("error sending request: ConnectionReset")

    monkeypatch.setattr(obstore, "put", unlucky)
    return calls


def test_a_create_whose_answer_was_lost_knows_that_it_won(uri, monkeypatch):
    store = open_store(uri)
    calls = lose_answers(monkeypatch, 1)
    assert store.create("receipt", b"mine") is True
    assert calls == [2] and store.read("receipt") == b"mine"


def test_a_create_whose_answer_was_lost_knows_that_another_won_with_the_same_bytes(uri, monkeypatch):
    store = open_store(uri)
    lose_answers(monkeypatch, 1, before=b"same")
    assert store.create("receipt", b"same") is False


def test_retry_gives_up_at_the_limit_and_passes_other_errors_through():
    calls = []

    def broken() -> None:
        calls.append(1)
        raise KeyError("ours")

    with pytest.raises(KeyError):
        retry(broken)
    assert calls == [1]


def test_a_proxy_of_the_environment_never_sees_the_embedded_store(uri, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("DOGFLOW_STORE_TIMEOUT_S", "3")
    store = open_store(uri)
    store.write("a", b"1")
    assert store.read("a") == b"1"
    create_bucket(uri)
