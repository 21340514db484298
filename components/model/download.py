"""Fetching published weights: resumable, checked by sha256, visible only when whole."""

import http.client
import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from components.model.published import PublishedWeights, WeightsFile, published
from components.model.weights import (
    WeightsError,
    check_published,
    folder_of,
    resolve,
    sha256_of,
)

Progress = Callable[[int, int], None]
"""Called with (bytes so far, bytes in all or 0 when unknown)."""

RECORD_FILE = "source.json"
_CHUNK_BYTES = 1 << 20
_TIMEOUT_S = 60


def pull(reference: str, kind: str, progress: Progress | None = None) -> Path:
    """Bring a published model into the cache folder and return its file; nothing is fetched when it is there.

    The files of the entry are tried in order. `source.json` beside the file records where it came from, its
    sha256 and what that was checked against. Raises WeightsError with every attempt's reason.
    """
    entry = published(reference, kind)
    if entry is None:
        raise WeightsError(
            f"There are no published {kind} weights {reference!r}; see `dogflow weights list --all`."
        )
    present = _present(entry)
    if present is not None:
        return present
    folder = folder_of(reference, kind)
    folder.mkdir(parents=True, exist_ok=True)
    reasons = []
    for file in entry.files:
        try:
            return _fetch(entry, file, folder, progress or (lambda done, total: None))
        except (OSError, http.client.HTTPException, WeightsError) as error:
            reasons.append(f"{file.name} from {file.origin}: {error}")
    raise WeightsError(f"{reference} could not be pulled. " + " ".join(f"({reason})" for reason in reasons))


def _present(entry: PublishedWeights) -> Path | None:
    folder = folder_of(entry.reference, entry.kind)
    if any((folder / file.name).is_file() for file in entry.files):
        return resolve(entry.reference, entry.kind).path
    return None


def _fetch(entry: PublishedWeights, file: WeightsFile, folder: Path, progress: Progress) -> Path:
    target = folder / file.name
    part = folder / f"{file.name}.part"
    if file.url:
        checked = (
            "published sha256" if len(file.sha256) == 64 else "published sha256 prefix" if file.sha256 else ""
        )
        _download(file, part, progress)
        expected = file.sha256
    else:
        expected, checked = _download_from_hub(file, part, folder), "sha256 stated by the hub"
    digest = sha256_of(part)
    try:
        check_published(WeightsFile(file.name, sha256=expected), part, digest, entry.reference)
    except WeightsError:
        part.unlink()  # a wrong file must not be resumed
        raise
    record = {
        "reference": entry.reference,
        "file": file.name,
        "origin": file.origin,
        "sha256": digest,
        "size_bytes": part.stat().st_size,
        "checked_against": checked if expected else "nothing: no checksum is published",
    }
    (folder / RECORD_FILE).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    part.replace(target)
    return target


def _download(file: WeightsFile, part: Path, progress: Progress) -> None:
    """Stream the address into `part`, going on from what is already there. Raises WeightsError or OSError."""
    done = part.stat().st_size if part.exists() else 0
    if file.size_bytes and done == file.size_bytes:
        return
    total = file.size_bytes
    request = urllib.request.Request(file.url, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:
            if response.status != 206:  # the server sends the whole file again
                done = 0
            length = int(response.headers.get("Content-Length") or 0)
            total = file.size_bytes or (done + length if length else 0)
            _check_space(part.parent, total - done)
            with part.open("ab" if done else "wb") as stream:
                while chunk := response.read(_CHUNK_BYTES):
                    stream.write(chunk)
                    done += len(chunk)
                    progress(done, total)
    except urllib.error.HTTPError as error:
        if error.code != 416:  # 416: nothing is left to send, so the part is whole or wrong; the sum decides
            raise
    # A connection that closes early looks like a normal end of the stream.
    if part.stat().st_size < total:
        raise WeightsError(f"{part.name} ended early; run the same command again to go on from there.")


def _check_space(folder: Path, needed_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed_bytes > free:
        raise WeightsError(
            f"{folder} has {free / 1e9:.1f} GB free and {needed_bytes / 1e9:.1f} GB are needed."
        )


def _download_from_hub(file: WeightsFile, part: Path, folder: Path) -> str:
    """Fetch through huggingface_hub (which resumes by itself) and return the sha256 that the hub states."""
    import huggingface_hub

    try:
        address = huggingface_hub.hf_hub_url(file.hub_repository, file.name)
        metadata = huggingface_hub.get_hf_file_metadata(address)
        local = huggingface_hub.hf_hub_download(
            file.hub_repository, file.name, revision=metadata.commit_hash, local_dir=folder / "hub"
        )
    except Exception as error:  # the hub's errors share no base with OSError across its versions
        raise WeightsError(f"the hub gave {type(error).__name__}: {str(error).splitlines()[0]}") from error
    Path(local).replace(part)
    shutil.rmtree(folder / "hub", ignore_errors=True)
    tag = (metadata.etag or "").strip('"')
    # Large files are tagged by their sha256; small ones by a git hash, which is not comparable.
    return tag if len(tag) == 64 else ""
