"""Fixtures that more than one folder of tests uses."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.store.server import BUCKET, StoreInfo, down, environment, up

# As in pipelines.cli: spinning threads would slow each other down on a busy machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real photos and captions beside the checkout, which not everybody has."""
    folder = (ROOT / "../shared/data").resolve()
    if not folder.is_dir():
        pytest.skip("the sample data ../shared/data is not here")
    return folder


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreInfo]:
    """A real S3 server for the whole session. Changes no environment; see `s3_env`."""
    home = tmp_path_factory.mktemp("embedded")
    yield up(home)
    down(home)


@pytest.fixture
def s3_env(s3: StoreInfo, monkeypatch: pytest.MonkeyPatch) -> StoreInfo:
    """The session's S3 server, named by the AWS_* variables of this test."""
    for name, value in environment(s3).items():
        monkeypatch.setenv(name, value)
    return s3


@pytest.fixture(params=["file", "s3"])
def store_uri(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty place for data, once in a folder and once in a bucket."""
    if request.param == "file":
        return (tmp_path / "data").as_uri()
    request.getfixturevalue("s3_env")
    return f"s3://{BUCKET}/test-{uuid.uuid4().hex}"
