"""Identity by derivation: ids and code versions.

An id hashes what a result was derived from (step, parents, identity options, policy, code), never the bytes
that came out, so it is equal on every storage, partition count and runner. What did come out is compared by
its content digest (`digest`).
"""

import ast
import hashlib
import json
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
ID_HEX_DIGITS = 16

# Imported module -> distribution, for the libraries whose version can change a value.
_RESULT_LIBRARIES = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "diffusers": "diffusers",
    "ftfy": "ftfy",
    "icu4py": "icu4py",
    "numpy": "numpy",
    "open_clip": "open-clip-torch",
    "regex": "regex",
    "scipy": "scipy",
    "segment_anything": "segment-anything",
    "simplejpeg": "simplejpeg",
    "tokenizers": "tokenizers",
    "torch": "torch",
    "torchdiffeq": "torchdiffeq",
    "torchvision": "torchvision",
}
# Hold a step's KFP signature and prose; they cannot change what it computes.
_NOT_CODE = {"component.py", "README.md"}


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces; NaN and infinities are refused (ValueError)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def derive_id(**parts: Any) -> str:
    """Id of whatever is fully described by `parts`: 16 hex digits of the sha256 of their canonical JSON."""
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()[:ID_HEX_DIGITS]


@cache
def code_version(step: str) -> str:
    """Hash of a step's folder, of the project files it imports, and of libraries that affect its result.

    Raises ValueError when there is no such step.
    """
    folder = _ROOT / "components" / step
    if not (folder / "step.py").is_file():
        raise ValueError(f"There is no step {step!r}: components/{step}/step.py does not exist.")
    files, libraries = _closure(folder)
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.relative_to(_ROOT).as_posix().encode() + b"\0")
        digest.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    for name in sorted(libraries):
        # "+cu130" and the like name a build, not a release.
        digest.update(f"{name}=={metadata.version(name).partition('+')[0]}\0".encode())
    return digest.hexdigest()[:ID_HEX_DIGITS]


def _closure(folder: Path) -> tuple[set[Path], set[str]]:
    """Files under `folder` and, transitively, what they import from components/; and library names."""
    pending = [
        path
        for path in folder.rglob("*")
        if path.is_file() and path.name not in _NOT_CODE and "__pycache__" not in path.parts
    ]
    files: set[Path] = set()
    libraries: set[str] = set()
    while pending:
        path = pending.pop()
        if path in files:
            continue
        files.add(path)
        if path.suffix != ".py":
            continue
        for module in _imported_modules(path):
            if module.split(".")[0] == "components":
                pending.extend(_module_files(module))
            elif module.split(".")[0] in _RESULT_LIBRARIES:
                libraries.add(_RESULT_LIBRARIES[module.split(".")[0]])
    return files, libraries


def _imported_modules(path: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
            modules.update(f"{node.module}.{alias.name}" for alias in node.names)
    return modules


def _module_files(module: str) -> list[Path]:
    """The module's file and the data files it owns: those beside it that share its stem."""
    path = _ROOT.joinpath(*module.split(".")).with_suffix(".py")
    if not path.is_file():
        return []
    return [other for other in path.parent.glob(f"{path.stem}.*") if other.is_file()]
