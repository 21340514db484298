"""`dogflow lineage serve` as a process."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from pipelines import cli

ENDS_WITHIN_S = 60


@pytest.fixture
def start(own_gallery):
    """Starts the command with some arguments; returns the process and the first line it prints."""
    processes = []

    def start(*arguments):
        command = [sys.executable, "-m", "pipelines.cli", "lineage", "serve", "--port", "0", *arguments]
        environment = {**os.environ, "DOGFLOW_HOME": str(own_gallery.home), "PYTHONUNBUFFERED": "1"}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        processes.append(process)
        return process, process.stdout.readline()

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def get(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_it_listens_on_loopback_and_ends_at_ctrl_c(start):
    process, line = start()
    url = re.fullmatch(r"Console: (http://127\.0\.0\.1:\d+)\n", line)[1]
    status, page = get(url)
    assert (status, "Runs" in page) == (200, True)
    assert get(url, Host="evil.example")[0] == 421
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=ENDS_WITHIN_S)
    assert process.returncode in (0, 130, -signal.SIGINT)
    assert "Traceback" not in out + err


def test_beyond_loopback_the_token_is_printed_once_and_stands_in_no_log(start):
    process, line = start("--host", "0.0.0.0")
    link = re.search(rf"http://{re.escape(socket.gethostname())}:(\d+)/login\?link=(\S+)\n", line)
    url = f"http://127.0.0.1:{link[1]}"
    token = re.search(r": (\S+)\n", process.stdout.readline())[1]
    assert get(url)[0] == 401
    assert get(url, Authorization=f"Bearer {token}")[0] == 200
    assert get(f"{url}/login?link={link[2]}")[0] == 200
    assert get(f"{url}/login?link={link[2]}")[0] == 403
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=ENDS_WITHIN_S)
    assert token not in out + err and link[2] not in out + err


def test_a_port_that_is_taken_is_told_with_the_fix(own_gallery, monkeypatch, capsys):
    monkeypatch.setenv("DOGFLOW_HOME", str(own_gallery.home))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert cli.main(["lineage", "serve", "--port", str(port)]) == 1
    assert f"port {port}" in capsys.readouterr().err


def test_an_address_that_is_not_ours_is_told(own_gallery, monkeypatch, capsys):
    monkeypatch.setenv("DOGFLOW_HOME", str(own_gallery.home))
    assert cli.main(["lineage", "serve", "--host", "203.0.113.1", "--port", "0"]) == 1
    assert "cannot listen on 203.0.113.1" in capsys.readouterr().err
