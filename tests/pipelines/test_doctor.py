"""What doctor finds, and what it says when something is wrong."""

import json
import socket
import sys

import pytest

from pipelines import cli, doctor


def found(subject):
    return next(finding for finding in doctor.check_all() if finding.subject == subject)


def test_this_machine_has_everything_it_must_have(home):
    assert [finding for finding in doctor.check_all() if finding.status == "bad"] == []


def test_another_python_is_bad(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 12, 1, "final", 0))
    assert doctor.check_python() == (
        "bad",
        "3.12.1; the lock file is for 3.11: make a virtual environment with python3.11.",
    )


def test_a_missing_library_is_bad_and_another_version_a_warning(monkeypatch):
    monkeypatch.setattr("pipelines.doctor.metadata.requires", lambda name: ["pyarrow", "No_such.lib>=1 ; x"])
    status, text = doctor.check_libraries()
    assert (status, "no_such.lib" in text, "pyarrow" in text) == ("bad", True, False)
    monkeypatch.setattr("pipelines.doctor.metadata.requires", lambda name: ["pyarrow", 'x ; extra == "dev"'])
    monkeypatch.setattr("pipelines.doctor.metadata.version", lambda name: "1.0+cu130")
    status, text = doctor.check_libraries()
    assert status == "warning" and "pyarrow 1.0+cu130 (locked: " in text


def test_the_lock_is_read_as_pip_reads_it():
    lines = [
        "torch==2.14.1 \\",
        "    --hash=sha256:ab",
        "tzdata==1 ; sys_platform == 'win32' \\",
        "# x==1",
        "",
    ]
    assert doctor._locked(lines) == {"torch": "2.14.1", "tzdata": "1"}


def test_a_store_that_does_not_answer_is_bad(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        assert doctor.check_store()[0] == "bad"
        taken.listen()
        assert doctor.check_store() == ("ok", f"{endpoint} (AWS_ENDPOINT_URL) answers")


@pytest.mark.parametrize(("free_gib", "status"), [(1, "warning"), (100, "ok")])
def test_little_disk_is_a_warning_that_names_dogflow_home(monkeypatch, home, free_gib, status):
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": free_gib * 2**30}))
    result = doctor.check_disk()
    assert result[0] == status and ("DOGFLOW_HOME" in result[1]) == (status == "warning")


def test_a_check_that_crashes_is_a_finding(monkeypatch):
    monkeypatch.setitem(doctor.CHECKS, "GPU", lambda: 1 / 0)
    assert (found("GPU").status, found("GPU").found) == ("bad", "ZeroDivisionError: division by zero")


def test_the_command_exits_1_when_something_is_bad(monkeypatch, capfd):
    monkeypatch.setattr(
        "pipelines.doctor.CHECKS", {"a": lambda: ("ok", "fine"), "b": lambda: ("bad", "broken [x]")}
    )
    assert cli.main(["doctor"]) == 1
    assert [line.split() for line in capfd.readouterr().out.splitlines()] == [
        ["a", "ok", "fine"],
        ["b", "bad", "broken", "[x]"],
    ]
    cli.main(["doctor", "--json"])
    assert json.loads(capfd.readouterr().out)[1] == {"subject": "b", "status": "bad", "found": "broken [x]"}
