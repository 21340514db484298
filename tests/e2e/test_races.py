"""Two processes run the same step at once: both succeed, and there is one result."""

import hashlib

import pytest

from components.data.storage import open_store

STEPS = [
    "ingest",
    "captions",
    "quality",
    "duplicates",
    "similarity",
    "foreground",
    "prompts",
    "selection",
    "encoding",
    "initialization",
    "training",
    "sampling",
    "evaluation",
    "report",
]
ON_S3 = ["ingest", "quality", "foreground", "selection", "training"]
CASES = [(step, "file") for step in STEPS] + [(step, "s3") for step in ON_S3]


@pytest.mark.parametrize(("step", "storage"), CASES, ids=[f"{step}-{where}" for step, where in CASES])
def test_two_processes_at_once_make_one_result(
    step, storage, request, tmp_path, steps, whole_chain, undisturbed, root_before, check
):
    uri = (tmp_path / "root").as_uri()
    if storage == "s3":
        request.getfixturevalue("s3_env")
        uri = f"s3://dogflow/race-{step}"
    root_before(step, uri)
    command = [each for each in whole_chain if each.name == step]
    racers = [steps.start(uri, command, done=undisturbed.paths, flush_every_s=0) for _ in range(2)]
    ended = [racer.wait() for racer in racers]
    assert [racer.returncode for racer in ended] == [0, 0], "\n".join(racer.log for racer in ended)
    path = ended[0].paths[step]
    stored = hashlib.sha256(open_store(uri).read(path)).hexdigest()
    assert [racer.paths[step] for racer in ended] == [path, path]
    assert [racer.sha256[step] for racer in ended] == [stored, stored]
    check.verify_root(uri)
    check.same(uri, path, undisturbed, step)


def test_every_step_races(whole_chain):
    assert [step.name for step in whole_chain] == STEPS


def test_two_whole_curations_at_once_make_one_dataset(
    tmp_path, steps, photo_source, models, undisturbed, check
):
    """As when two people start the same command: the racers overtake each other between steps, too."""
    uri = (tmp_path / "root").as_uri()
    chain = check.curation(photo_source, models)
    racers = [steps.start(uri, chain) for _ in range(2)]
    ended = [racer.wait() for racer in racers]
    assert [racer.returncode for racer in ended] == [0, 0], "\n".join(racer.log for racer in ended)
    assert ended[0].sha256 == ended[1].sha256
    check.verify_root(uri)
    check.same(uri, ended[0].paths["selection"], undisturbed, "selection")
