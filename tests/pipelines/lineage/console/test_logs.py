"""A log's end comes from inside its run's folder alone."""

import pytest

from pipelines.lineage.console.logs import TAIL_BYTES, TAIL_LINES, log_tail
from pipelines.runs.record import Runs, TaskRecord


@pytest.fixture
def runs(tmp_path):
    found = Runs(tmp_path / "home")
    found.folder_of("run").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret")
    return found


def tail(runs, log, **fields):
    return log_tail(runs, "run", TaskRecord(name="t", step="t", log=log, **fields))


def test_the_last_lines_are_shown(runs):
    (runs.folder_of("run") / "log.txt").write_text("".join(f"line {at}\n" for at in range(1000)))
    shown = tail(runs, "log.txt").splitlines()
    assert (len(shown), shown[-1]) == (TAIL_LINES, "line 999")


def test_a_huge_line_of_broken_bytes_is_cut(runs):
    (runs.folder_of("run") / "log.txt").write_bytes(b"\xff" * 10 * TAIL_BYTES)
    assert len(tail(runs, "log.txt")) <= TAIL_BYTES


def test_a_log_of_a_reused_task_lies_in_the_run_that_did_the_work(runs):
    runs.folder_of("earlier").mkdir()
    (runs.folder_of("earlier") / "log.txt").write_text("done there")
    assert tail(runs, "log.txt", reused_from="earlier") == "done there"
    assert tail(runs, "log.txt", reused_from="../../") == ""


@pytest.mark.parametrize(
    "way", ["../../../secret.txt", "/etc/passwd", "../..//../secret.txt", "x\0y", "l" * 9000]
)
def test_no_path_leads_out_of_the_run(runs, way):
    assert tail(runs, way) == ""


def test_a_link_does_not_lead_out_of_the_run(runs, tmp_path):
    (runs.folder_of("run") / "log.txt").symlink_to(tmp_path / "secret.txt")
    assert tail(runs, "log.txt") == ""
    runs.folder_of("linked").symlink_to(tmp_path)
    assert tail(runs, "secret.txt", reused_from="linked") == ""
    assert tail(runs, "absent.txt") == tail(runs, "") == ""
