"""Where lineage looks: the data roots that runs wrote to, each opened as those runs reached it."""

from collections.abc import Iterable
from pathlib import Path

from components.data.endpoint import Endpoint
from components.data.s3_store import S3Bucket
from components.data.storage import StorageError, Store, open_store, split_s3_uri
from pipelines.runs.record import RunRecord
from pipelines.store import server
from pipelines.store.server import EMBEDDED_DATA_ROOT


def open_roots(
    home: Path, records: Iterable[RunRecord], data_root: str = ""
) -> tuple[list[Store], list[str]]:
    """The data roots of some runs, and the embedded store's if there is one; or `data_root` alone.

    Starts the embedded server of `home` where it is needed. Other s3:// roots are reached by the AWS_*
    variables. Also returns a sentence for each root that cannot be opened.
    """
    if data_root:
        return [open_store(data_root)], []
    wanted = {(record.data_root.rstrip("/"), record.embedded_store) for record in records}
    if server.status(home) is not None:
        wanted.add((EMBEDDED_DATA_ROOT, True))
    stores: list[Store] = []
    problems: list[str] = []
    for uri, embedded in sorted(wanted):
        try:
            stores.append(_embedded(home, uri) if embedded else open_store(uri))
        except (StorageError, server.StoreServerError) as error:
            problems.append(f"{uri} is left out: {error}")
    return stores, problems


def open_root(home: Path, record: RunRecord) -> Store:
    """The data root of one run. Starts the embedded server of `home` where the run used it."""
    uri = record.data_root.rstrip("/")
    return _embedded(home, uri) if record.embedded_store else open_store(uri)


def _embedded(home: Path, uri: str) -> Store:
    """A root in the embedded store, whatever S3 the environment names."""
    info = server.up(home)
    endpoint = Endpoint(info.endpoint_url, info.access_key, info.secret_key, info.region)
    return S3Bucket(endpoint, *split_s3_uri(uri))
