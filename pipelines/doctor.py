"""What `dogflow doctor` looks at. Each check says what it found and, where that is bad, what to do."""

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import psutil

from pipelines.home import dogflow_home

Status = Literal["ok", "warning", "bad"]
DISTRIBUTION = "dogflow"
MEMORY_GIB = 4.0  # the demo's peak
DISK_GIB = 5.0
_GIB = 2**30


@dataclass(frozen=True)
class Finding:
    """One row of the table. Only "bad" keeps dogflow from working."""

    subject: str
    status: Status
    found: str


def check_all() -> list[Finding]:
    """Every check, in order; one that fails by itself is a bad finding, not a crash."""
    findings = []
    for subject, check in CHECKS.items():
        try:
            status, found = check()
        except Exception as error:
            status, found = "bad", f"{type(error).__name__}: {error}"
        findings.append(Finding(subject, status, found))
    return findings


def check_python() -> tuple[Status, str]:
    """Only the Python that the lock was made for."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] != (3, 11):
        return (
            "bad",
            f"{version}; the lock file is for 3.11: make a virtual environment with python3.11.",
        )
    return "ok", f"{version} in {sys.prefix}"


def check_libraries() -> tuple[Status, str]:
    """Every dependency is there, and is the locked version where the lock file is at hand."""
    lock = Path(__file__).resolve().parents[1] / "requirements.lock"
    locked = _locked(lock.read_text().splitlines()) if lock.is_file() else {}
    required = [_name(text) for text in metadata.requires(DISTRIBUTION) or [] if "extra ==" not in text]
    missing, other = [], []
    for name in required:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
            continue
        if name in locked and version.partition("+")[0] != locked[name]:
            other.append(f"{name} {version} (locked: {locked[name]})")
    if missing:
        return "bad", f"Missing: {', '.join(missing)}. Run `make setup`, or pip with requirements.lock."
    if other:
        return "warning", f"Not the locked versions: {', '.join(other)}. Results may differ."
    return "ok", f"{len(required)} libraries" + (", all of the locked versions" if locked else "")


def _name(requirement: str) -> str:
    for end, character in enumerate(requirement):
        if not (character.isalnum() or character in "-_."):
            return requirement[:end].lower()
    return requirement.lower()


def _locked(lines: Iterable[str]) -> dict[str, str]:
    pins = (line.split(";")[0].split("\\")[0].strip().partition("==") for line in lines if line[:1].isalnum())
    return {name.lower(): version for name, equals, version in pins if equals}


def check_cores() -> tuple[Status, str]:
    """Cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ("ok" if cores >= 2 else "warning"), f"{cores}"


def check_memory() -> tuple[Status, str]:
    """Memory that is free now."""
    memory = psutil.virtual_memory()
    found = f"{memory.available / _GIB:.1f} of {memory.total / _GIB:.1f} GiB free"
    if memory.available / _GIB < MEMORY_GIB:
        return (
            "warning",
            f"{found}; the demo needs {MEMORY_GIB:.0f}. Close something, or use fewer workers.",
        )
    return "ok", found


def check_disk() -> tuple[Status, str]:
    """Space where dogflow keeps its data."""
    folder = dogflow_home()
    while not folder.exists():
        folder = folder.parent
    free_gib = shutil.disk_usage(folder).free / _GIB
    found = f"{free_gib:.1f} GiB free under {folder}"
    if free_gib < DISK_GIB:
        return "warning", f"{found}. Free some, or set DOGFLOW_HOME to a folder on a larger disk."
    return "ok", found


def check_bf16() -> tuple[Status, str]:
    """Whether the CPU multiplies bfloat16 in hardware."""
    import torch

    from components.model.device import native_bf16

    if native_bf16(torch.device("cpu")):
        return "ok", "in hardware"
    return "ok", "not in hardware: models run in fp32 on this CPU"


def check_gpu() -> tuple[Status, str]:
    """GPUs that torch can use."""
    import torch

    if torch.cuda.is_available():
        devices = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
        return "ok", "; ".join(f"{device.name}, {device.total_memory / _GIB:.0f} GiB" for device in devices)
    if shutil.which("nvidia-smi"):
        return (
            "warning",
            "There is an NVIDIA driver, but torch cannot use it: update the driver.",
        )
    return "ok", "none: everything runs on the CPU"


def check_store() -> tuple[Status, str]:
    """The store that AWS_ENDPOINT_URL names, or the embedded one."""
    from pipelines.store import process, server

    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        return _reachable(endpoint)
    process.find_binary()
    info = server.status(dogflow_home())
    if info is None or not info.running:
        return "ok", "embedded, not running; `dogflow run` starts it"
    return "ok", f"embedded, running at {info.endpoint_url}"


def _reachable(endpoint: str) -> tuple[Status, str]:
    import socket
    from urllib.parse import urlsplit

    address = urlsplit(endpoint)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        with socket.create_connection((address.hostname or "", port), timeout=5):
            return "ok", f"{endpoint} (AWS_ENDPOINT_URL) answers"
    except OSError as error:
        return (
            "bad",
            f"{endpoint} (AWS_ENDPOINT_URL): {error}. Start it, or unset the variable.",
        )


def check_weights() -> tuple[Status, str]:
    """The models that the profile `strict` scores with."""
    from components.model.published import CLIP, SAM
    from components.model.weights import WeightsError, resolve

    absent = []
    for reference, kind in (("ViT-L-14/openai", CLIP), ("vit_b", SAM)):
        try:
            resolve(reference, kind)
        except WeightsError:
            absent.append(reference)
    if absent:
        return (
            "warning",
            f"not here: {', '.join(absent)}. `dogflow weights pull` gets them; the demo needs none.",
        )
    return "ok", "ViT-L-14/openai and vit_b are here"


def check_video() -> tuple[Status, str]:
    """Whether OpenCV reads video files."""
    import cv2

    lines = cv2.getBuildInformation().splitlines()
    if any(line.split() == ["FFMPEG:", "YES"] for line in lines):
        return "ok", "OpenCV reads video through FFmpeg"
    return "warning", "OpenCV was built without FFmpeg: video files cannot be ingested."


CHECKS: dict[str, Callable[[], tuple[Status, str]]] = {
    "Python": check_python,
    "libraries": check_libraries,
    "CPU cores": check_cores,
    "memory": check_memory,
    "disk": check_disk,
    "CPU bf16": check_bf16,
    "GPU": check_gpu,
    "store": check_store,
    "weights": check_weights,
    "video": check_video,
}
