"""file:// and S3, one and three partitions, one and two threads: the same ids and the same content."""

from dataclasses import replace
from itertools import product

import pytest

PARTITIONED = ("quality", "similarity", "foreground")
# One partition and one thread in a folder is what the undisturbed run is.
CASES = [case for case in product(("file", "s3"), (1, 3), (1, 2)) if case != ("file", 1, 1)]


@pytest.mark.parametrize(("storage", "partitions", "workers"), CASES)
def test_storage_partitions_and_threads_do_not_change_a_dataset(
    storage, partitions, workers, request, tmp_path, steps, photo_source, models, undisturbed, check
):
    uri = (tmp_path / "root").as_uri()
    if storage == "s3":
        request.getfixturevalue("s3_env")
        uri = f"s3://dogflow/storages-{partitions}-{workers}"
    threads = {name: {"workers": workers} for name in PARTITIONED}
    chain = check.curation(photo_source, models, **threads)
    if partitions == 1:
        made = steps.must(uri, chain).paths
    else:
        made = in_partitions(steps, uri, chain, partitions)
    check.verify_root(uri)
    for step in chain:
        check.same(uri, made[step.name], undisturbed, step.name)


def in_partitions(steps, uri, chain, partitions):
    """Run as a parallel loop and its merge would: all parts of a step at once, then the step as a whole."""
    made = {}
    waiting = []
    for step in chain:
        if step.name in PARTITIONED:
            made = steps.must(uri, waiting, done=made).paths if waiting else made
            parts = [
                steps.start(uri, [replace(step, partition=part, partitions=partitions)], done=made)
                for part in range(partitions)
            ]
            for part in parts:
                ended = part.wait()
                assert ended.returncode == 0, ended.log
                # A part makes no manifest: it hands on the one that it was given.
                assert ended.paths[step.name] == made[step.inputs[0]]
            waiting = []
        waiting.append(step)
    return steps.must(uri, waiting, done=made).paths
