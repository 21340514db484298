"""What is read out of a task's log."""

import pytest

from components.data.progress import Progress
from pipelines.runners.tasklog import ProgressReader, error_sentence, last_lines

TRACEBACK = """\
photos 3/8 rows, 12 rows/s, ETA 1 s
Traceback (most recent call last):
  File "/x/step.py", line 3, in run
    raise {kind}("{text}")
{kind}: {text}
"""


def test_progress_is_what_progress_prints(tmp_path):
    log = tmp_path / "log.txt"
    reader = ProgressReader(log)
    assert reader.read() == ""
    with log.open("w") as stream:
        progress = Progress("ingest (hashing)", 2048, every_s=0, stream=stream)
        progress.add(512)
        assert reader.read().startswith("512/2,048 rows, ")
        print("a line of something else: 3/4", file=stream, flush=True)
        assert reader.read().startswith("512/2,048 rows, ")
        progress.add(1536, "loss 0.31")
    assert reader.read().startswith("2,048/2,048 rows, ") and reader.read().endswith(", loss 0.31")


def test_half_a_line_is_not_read_until_it_is_whole(tmp_path):
    log = tmp_path / "log.txt"
    reader = ProgressReader(log)
    log.write_text("quality 1/9 rows, 3.00 rows/s, ETA")
    assert reader.read() == ""
    log.write_text("quality 1/9 rows, 3.00 rows/s, ETA 3 s\n")
    assert reader.read() == "1/9 rows, 3.00 rows/s, ETA 3 s"


@pytest.mark.parametrize(
    ("kind", "text", "sentence"),
    [
        (
            "components.data.options.OptionError",
            "quality.x is no option: leave it out.",
            "quality.x is no option: leave it out.",
        ),
        ("ValueError", "ingest.source is empty: give a folder.", "ingest.source is empty: give a folder."),
        ("components.data.storage.NotFound", "There is no s3://a/b.", "There is no s3://a/b."),
        ("KeyError", "'breed'", "KeyError: 'breed'"),
        ("RuntimeError", "CUDA out of memory", "RuntimeError: CUDA out of memory"),
    ],
)
def test_the_error_is_the_last_exceptions_sentence(tmp_path, kind, text, sentence):
    log = tmp_path / "log.txt"
    log.write_text("ValueError: an earlier one, handled\n" + TRACEBACK.format(kind=kind, text=text))
    assert error_sentence(log, 1) == sentence


def test_a_message_of_several_lines_is_one_sentence(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("ValueError: first line\n  second line\n")
    assert error_sentence(log, 1) == "first line second line"


@pytest.mark.parametrize(
    ("returncode", "words"), [(137, "memory"), (139, "native library"), (143, "stopped"), (3, "exit code 3")]
)
def test_without_an_exception_the_exit_code_is_explained(tmp_path, returncode, words):
    assert words in error_sentence(tmp_path / "none.txt", returncode)


def test_the_last_lines_are_those_that_say_something(tmp_path):
    log = tmp_path / "log.txt"
    log.write_bytes(b"x" * 100_000 + b"\none\n\n  two \xff\n   \n")
    assert last_lines(log, 2) == ["one", "  two \N{REPLACEMENT CHARACTER}"]
