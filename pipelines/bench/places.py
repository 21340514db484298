"""Where benchmarks store things: a temporary folder, and a temporary bucket of an embedded S3 server."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def local_folder() -> Iterator[str]:
    """URI of a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="dogflow-bench-") as folder:
        yield Path(folder).as_uri()


@contextmanager
def embedded_bucket() -> Iterator[str]:
    """URI of a bucket on a server of its own, named by AWS_* in the meantime; all is removed afterwards.

    A server of its own, so that what was stored before neither helps nor is harmed.
    """
    from pipelines.store.server import BUCKET, down, environment, up

    with tempfile.TemporaryDirectory(prefix="dogflow-bench-") as folder:
        home = Path(folder)
        variables = environment(up(home))
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        try:
            yield f"s3://{BUCKET}/bench"
        finally:
            down(home)
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name)
                else:
                    os.environ[name] = value


PLACES = {"local": local_folder, "S3": embedded_bucket}
