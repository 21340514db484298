"""Pulling weights from a local server: whole or not at all, resumable, checked, and not twice."""

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from components.model import download as download_module
from components.model import weights as weights_module
from components.model.download import pull
from components.model.published import PublishedWeights, WeightsFile
from components.model.weights import WeightsError, folder_of

CONTENT = bytes(range(256)) * 12_000  # 3 MB
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves CONTENT with ranges; closes the connection after `cut_after` bytes of an answer, once each."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.cuts: list[int] = []
        self.ranges: list[str] = []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server: Server = self.server
        wanted = self.headers.get("Range", "")
        server.ranges.append(wanted)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        if start >= len(CONTENT):
            self.send_error(416)
            return
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        stop = start + server.cuts.pop(0) if server.cuts else len(CONTENT)
        self.wfile.write(CONTENT[start:stop])

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join(10)
    server.server_close()


@pytest.fixture
def offer(tmp_path, monkeypatch, server):
    """Publishes one reference "vit_b"; `offer(sha256=..., ...)` sets its file's fields."""
    monkeypatch.setenv("DOGFLOW_WEIGHTS", str(tmp_path))

    def publish(**fields) -> WeightsFile:
        file = WeightsFile(
            **{"name": "w.pth", "url": f"http://127.0.0.1:{server.server_port}/w.pth", **fields}
        )
        entry = PublishedWeights("vit_b", "sam", (file,))
        for module in (download_module, weights_module):
            monkeypatch.setattr(module, "published", lambda reference, kind: entry)
        return file

    return publish


def test_a_pulled_file_has_the_bytes_and_a_record_and_is_not_fetched_again(offer, server):
    offer(sha256=DIGEST, size_bytes=len(CONTENT))
    seen = []
    path = pull("vit_b", "sam", lambda done, total: seen.append((done, total)))
    assert path == folder_of("vit_b", "sam") / "w.pth"
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    record = json.loads((path.parent / "source.json").read_text())
    assert record["sha256"] == DIGEST
    assert record["checked_against"] == "published sha256"
    assert pull("vit_b", "sam") == path
    assert len(server.ranges) == 1


@pytest.mark.parametrize("size_bytes", [0, len(CONTENT)])
def test_a_broken_connection_leaves_a_part_and_the_next_pull_goes_on_from_it(offer, server, size_bytes):
    offer(sha256=DIGEST, size_bytes=size_bytes)
    server.cuts = [1_000_000]
    with pytest.raises(WeightsError, match="ended early; run the same command again"):
        pull("vit_b", "sam")
    folder = folder_of("vit_b", "sam")
    assert [file.name for file in folder.iterdir()] == ["w.pth.part"]
    done = (folder / "w.pth.part").stat().st_size
    assert 0 < done <= 1_000_000
    assert pull("vit_b", "sam").read_bytes() == CONTENT
    assert server.ranges == ["", f"bytes={done}-"]
    assert sorted(file.name for file in folder.iterdir()) == ["source.json", "w.pth"]


def test_a_whole_part_of_unknown_size_is_checked_and_taken(offer, server):
    offer(sha256=DIGEST)
    part = folder_of("vit_b", "sam") / "w.pth.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT)
    assert pull("vit_b", "sam").read_bytes() == CONTENT


def test_other_bytes_than_published_are_deleted_not_shown(offer):
    offer(sha256="00" * 32)
    with pytest.raises(WeightsError, match=r"not the published w\.pth"):
        pull("vit_b", "sam")
    assert list(folder_of("vit_b", "sam").iterdir()) == []


def test_a_checksum_prefix_is_honoured_and_said_to_be_one(offer):
    offer(sha256=DIGEST[:8])
    path = pull("vit_b", "sam")
    assert (
        json.loads((path.parent / "source.json").read_text())["checked_against"] == "published sha256 prefix"
    )


def test_an_unreachable_server_is_one_sentence_with_the_address(offer):
    offer(url="http://127.0.0.1:9/w.pth", sha256=DIGEST)
    with pytest.raises(WeightsError, match=r"vit_b could not be pulled.*127\.0\.0\.1:9/w\.pth.*refused"):
        pull("vit_b", "sam")


def test_a_disk_without_room_is_told_before_writing(offer, monkeypatch):
    offer(sha256=DIGEST, size_bytes=10**18)
    with pytest.raises(WeightsError, match=r"1000000000\.0 GB are needed"):
        pull("vit_b", "sam")
