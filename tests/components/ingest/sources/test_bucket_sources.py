"""A source in a bucket gives the same items and bytes as the same folder on disk."""

import io
import tarfile
import uuid
from pathlib import Path

import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from components.data.storage import open_store
from components.ingest.sources.record import SourceError, open_source
from pipelines.store.server import BUCKET, StoreInfo


def tar(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name.replace("_", "."))
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def parquet(**columns: list[object]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, row_group_size=2)
    return buffer.getvalue()


def video(folder: Path) -> bytes:
    path = folder / "made.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 25, (32, 32))
    for number in range(6):
        writer.write(np.random.default_rng(number).integers(0, 256, (32, 32, 3), dtype=np.uint8))
    writer.release()
    return path.read_bytes()


SOURCES: dict[str, dict[str, bytes]] = {
    "folder_table": {
        "captions.csv": b'file,caption\r\nimages/b.jpg,"two\nlines"\nimages/a.jpg,caf\xe9\nnone.jpg,x\n',
        "images/a.jpg": b"A",
        "images/b.jpg": b"B",
        "images/.hidden.jpg": b"H",
        "notes.md": b"x",
    },
    "class_folders": {
        **{f"beagle/{n:03d}.jpg": b"%d" % n for n in range(40)},
        "pug-dog/1.jpg": b"P",
        "pug/1.jpg": b"Q",
    },
    "pairs": {
        "a.jpg": b"A",
        "a.txt": b"a dog",
        "b/c.png": b"C",
        "b/c.json": b'{"caption": "json"}',
        "x.txt": b"",
    },
    "webdataset": {
        "0.tar.gz": tar(**{"1_jpg": b"A", "1_txt": b"one", "2_jpg": b"B"}),
        "0.parquet": parquet(
            key=["2", "3"], caption=["two", "three"], status=["success", "failed"], error_message=["", "404"]
        ),
    },
    "parquet": {"data/p.parquet": parquet(image=[b"A", b"B", b"C", None], text=["1", "2", "3", "4"])},
}


def upload(files: dict[str, bytes]) -> str:
    uri = f"s3://{BUCKET}/source-{uuid.uuid4().hex}/dogs"
    store = open_store(uri)
    for name, content in files.items():
        store.write(name, content)
    return uri


@pytest.mark.parametrize("kind", SOURCES)
def test_a_bucket_equals_the_folder(s3_env: StoreInfo, tmp_path: Path, kind: str) -> None:
    root = tmp_path / "dogs"
    for name, content in SOURCES[kind].items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    local, remote = open_source(str(root)), open_source(upload(SOURCES[kind]))
    assert type(local) is type(remote)
    items = list(local.items())
    assert list(remote.items()) == items and len(items) > 1
    assert (remote.ignored, remote.sidecars) == (local.ignored, local.sidecars)
    found = [str(value) if isinstance(value, SourceError) else value for value in remote.read(items)]
    assert found == [str(value) if isinstance(value, SourceError) else value for value in local.read(items)]
    assert open_source(root.as_uri()).items().__next__() == items[0]


def test_videos_and_single_objects_of_a_bucket(s3_env: StoreInfo, tmp_path: Path) -> None:
    uri = upload(
        {
            "clips/a.avi": video(tmp_path),
            "one.tar.gz": tar(**{"1_jpg": b"A"}),
            "list.csv": b"file\nx.jpg\n",
            "x.jpg": b"X",
        }
    )
    frames = open_source(f"{uri}/clips", frame_every=3)
    data = list(frames.read(list(frames.items())))
    assert len(data) == 2 and all(isinstance(found, bytes) and found.startswith(b"\x89PNG") for found in data)
    single = open_source(f"{uri}/one.tar.gz")
    assert list(single.read(list(single.items()))) == [b"A"]
    listed = open_source(f"{uri}/list.csv")
    assert [item.relpath for item in listed.items()] == ["x.jpg"]


def test_an_empty_prefix_is_a_clear_error(s3_env: StoreInfo) -> None:
    with pytest.raises(
        SourceError, match=r"nothing-here holds nothing that can be ingested: found no file at all"
    ):
        open_source(f"s3://{BUCKET}/nothing-here")
