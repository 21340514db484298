"""Whether the weights on this machine are the ones they are called."""

import json
from dataclasses import dataclass
from pathlib import Path

from components.model.download import RECORD_FILE
from components.model.published import CLIP, SAM, WeightsFile, published
from components.model.weights import WeightsError, cache_folder, folder_of, resolve, sha256_of

# status -> what it means; the first four are good.
STATUSES = {
    "published": "has the sha256 its authors publish",
    "prefix": "agrees with the few digits its authors publish",
    "recorded": "unchanged since it was pulled; no checksum is published",
    "unchecked": "readable; there is nothing to compare its sha256 with",
    "different": "is not what it is called, or changed since it was pulled",
    "absent": "is not on this machine",
}
GOOD = ("published", "prefix", "recorded", "unchecked")


@dataclass(frozen=True)
class Verdict:
    """What became of one reference. sha256: of the file, "" when absent; expected: what it should be."""

    reference: str
    kind: str
    status: str
    file: str = ""
    sha256: str = ""
    expected: str = ""

    @property
    def good(self) -> bool:
        return self.status in GOOD


def verify(reference: str, kind: str) -> Verdict:
    """Compute the sha256 of a reference's file anew and compare it. WeightsError for an unknown one."""
    entry = published(reference, kind)
    if entry is None:
        resolved = resolve(reference, kind)
        return Verdict(reference, kind, "unchecked", str(resolved.path), resolved.sha256)
    folder = folder_of(reference, kind)
    for file in entry.files:
        if (folder / file.name).is_file():
            return _compare(reference, kind, folder / file.name, file)
    return Verdict(reference, kind, "absent", str(folder))


def _compare(reference: str, kind: str, path: Path, file: WeightsFile) -> Verdict:
    digest = sha256_of(path)
    recorded = _recorded(path)
    expected = file.sha256 or recorded
    if not digest.startswith(expected) or (recorded and digest != recorded):
        status, expected = "different", (file.sha256 if len(file.sha256) == 64 else recorded or file.sha256)
    elif file.sha256:
        status = "published" if len(file.sha256) == 64 else "prefix"
    else:
        status = "recorded" if recorded else "unchecked"
    return Verdict(reference, kind, status, str(path), digest, expected)


def _recorded(path: Path) -> str:
    """The sha256 that pulling wrote down for this very file, or ""."""
    try:
        record = json.loads((path.parent / RECORD_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return str(record.get("sha256", "")) if record.get("file") == path.name else ""


def references_here() -> list[tuple[str, str]]:
    """(reference, kind) of every published model that has a folder with files in the cache folder."""
    found = []
    for kind in (CLIP, SAM):
        for folder in sorted((cache_folder() / kind).glob("*")):
            reference = folder.name.replace("--", "/")
            if folder.is_dir() and any(folder.iterdir()) and published(reference, kind) is not None:
                found.append((reference, kind))
    return found


def is_here(reference: str, kind: str) -> bool:
    """Whether a file of that reference is on this machine; its bytes are not looked at."""
    entry = published(reference, kind)
    if entry is None:
        try:
            return bool(resolve(reference, kind))
        except WeightsError:
            return False
    return any((folder_of(reference, kind) / file.name).is_file() for file in entry.files)
