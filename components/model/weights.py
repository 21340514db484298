"""Where model weights come from: references, the cache folder, and checks by sha256. Nothing here downloads.

A reference is one of
- "ViT-L-14/openai": an open_clip model and tag, or "vit_b": an official SAM checkpoint, in the cache folder;
- a folder with `open_clip_config.json` and `open_clip_model.safetensors`, or with `sam_config.json` and
  `sam_model.safetensors`;
- a SAM checkpoint file, or for CLIP an architecture and a file: "ViT-B-32@/path/to/weights.safetensors";
- "demo": the small models that come with dogflow;
- a folder of diffusers with `config.json` and `diffusion_pytorch_model.safetensors`, for an autoencoder or a
  U-Net: the folders `vae` and `unet` of a Stable Diffusion 1.5 download, for instance.
The cache folder is $DOGFLOW_WEIGHTS, or ~/.cache/dogflow/weights.
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from components.model.published import (
    AUTOENCODER,
    CLIP,
    SAM,
    UNET,
    PublishedWeights,
    WeightsFile,
    published,
)

DEMO = "demo"
_DEMO_FOLDER = Path(__file__).resolve().parents[2] / "pipelines" / "demo" / "models"
_FOLDER_FILES = {
    CLIP: ("open_clip_config.json", "open_clip_model.safetensors"),
    SAM: ("sam_config.json", "sam_model.safetensors"),
    AUTOENCODER: ("config.json", "diffusion_pytorch_model.safetensors"),
    UNET: ("config.json", "diffusion_pytorch_model.safetensors"),
}
# Given as folders only, those of a diffusers download.
_FOLDERS_ONLY = {AUTOENCODER: "vae", UNET: "unet"}
_CHUNK_BYTES = 1 << 22


class WeightsError(ValueError):
    """Weights are absent, unreadable or not the expected ones; the message says which file and what to do."""


@dataclass(frozen=True)
class ResolvedWeights:
    """Weights that are on this machine.

    path: the weights file. folder: True when a configuration beside it describes the model. sha256 and
    config_sha256 ("" without a configuration): hex digests of the two files. model_name: the open_clip
    architecture, "" for a folder. tag: open_clip's name of published weights, which fixes how they want their
    pictures. published: whether the sha256 equals the one its authors publish.
    """

    reference: str
    kind: str
    path: Path
    sha256: str
    config_sha256: str = ""
    folder: bool = False
    model_name: str = ""
    tag: str = ""
    published: bool = False

    @property
    def identity(self) -> dict[str, str]:
        """What a score policy says about the weights: contents only, so that it is equal on every machine."""
        name = self.model_name or ("folder" if self.folder else "checkpoint")
        model = f"{name}/{self.tag}" if self.tag else name
        return {"model": model, "weights_sha256": self.sha256, "config_sha256": self.config_sha256}


def cache_folder() -> Path:
    """$DOGFLOW_WEIGHTS, or ~/.cache/dogflow/weights; it need not exist."""
    return Path(os.environ.get("DOGFLOW_WEIGHTS") or "~/.cache/dogflow/weights").expanduser()


def folder_of(reference: str, kind: str) -> Path:
    """The folder of a published model inside the cache folder."""
    return cache_folder() / kind / reference.replace("/", "--")


def sha256_of(path: Path) -> str:
    """Hex sha256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def resolve(reference: str, kind: str) -> ResolvedWeights:
    """Find the weights of a reference on this machine and check them. `kind` is a key of `_FOLDER_FILES`.

    Raises WeightsError: absent (with the command and the file that would help), not the published bytes, or a
    reference that means nothing.
    """
    if kind not in _FOLDER_FILES:
        raise WeightsError(f"There is no kind of weights {kind!r}; choose one of {', '.join(_FOLDER_FILES)}.")
    if not reference:
        raise WeightsError(
            f"The {kind} model has no name; give a reference such as {_example(kind)} or demo."
        )
    if kind in _FOLDERS_ONLY:
        return _resolve_diffusers_folder(reference, kind)
    if reference == DEMO:
        return _resolve_folder(reference, _DEMO_FOLDER / kind, kind)
    path = Path(reference).expanduser()
    if path.is_dir():
        return _resolve_folder(reference, path, kind)
    if kind == CLIP and "@" in reference:
        return _resolve_named_file(reference)
    if kind == SAM and path.is_file():
        return _resolve_sam_file(reference, path)
    entry = published(reference, kind)
    if entry is None:
        raise WeightsError(
            f"{reference!r} is neither a folder or file on this machine nor a published {kind} model. "
            f"Published ones look like {_example(kind)} (`dogflow weights list --all` shows them); a folder "
            f"needs {' and '.join(_FOLDER_FILES[kind])}."
        )
    return _resolve_published(entry)


def _example(kind: str) -> str:
    return "ViT-L-14/openai" if kind == CLIP else "vit_b"


def _resolve_folder(reference: str, folder: Path, kind: str) -> ResolvedWeights:
    config, weights = (folder / name for name in _FOLDER_FILES[kind])
    for path in (config, weights):
        if not path.is_file():
            raise WeightsError(
                f"The {kind} folder {folder} has no {path.name}; it needs {config.name} and {weights.name}."
            )
    return ResolvedWeights(reference, kind, weights, sha256_of(weights), sha256_of(config), folder=True)


def _resolve_diffusers_folder(reference: str, kind: str) -> ResolvedWeights:
    folder = Path(reference).expanduser()
    if folder.is_dir():
        return _resolve_folder(reference, folder, kind)
    names = " and ".join(_FOLDER_FILES[kind])
    raise WeightsError(
        f"{reference!r} is no folder on this machine. An {kind} is a folder with {names}: where there is a "
        f"network, fetch a Stable Diffusion 1.5 repository in diffusers' layout, copy its folder "
        f"{_FOLDERS_ONLY[kind]!r} here, and give its path."
    )


def _resolve_named_file(reference: str) -> ResolvedWeights:
    model_name, _, file_name = reference.partition("@")
    path = Path(file_name).expanduser()
    if not path.is_file():
        raise WeightsError(f"{reference!r} names the file {path}, which is not there.")
    return ResolvedWeights(reference, CLIP, path, sha256_of(path), model_name=model_name)


def _resolve_sam_file(reference: str, path: Path) -> ResolvedWeights:
    config = path.parent / _FOLDER_FILES[SAM][0]
    if path.suffix == ".safetensors":
        if not config.is_file():
            raise WeightsError(f"{path} needs {config.name} beside it, which says how large the model is.")
        return ResolvedWeights(reference, SAM, path, sha256_of(path), sha256_of(config), folder=True)
    return ResolvedWeights(reference, SAM, path, sha256_of(path))


def _resolve_published(entry: PublishedWeights) -> ResolvedWeights:
    folder = folder_of(entry.reference, entry.kind)
    for file in entry.files:
        path = folder / file.name
        if path.is_file():
            digest = sha256_of(path)
            check_published(file, path, digest, entry.reference)
            name, _, tag = entry.reference.partition("/")  # a SAM model has no tag
            return ResolvedWeights(
                entry.reference,
                entry.kind,
                path,
                digest,
                model_name=name,
                tag=tag,
                published=len(file.sha256) == 64,
            )
    raise WeightsError(_absent(entry, folder))


def check_published(file: WeightsFile, path: Path, digest: str, reference: str) -> None:
    """Raise WeightsError unless `digest` agrees with what is published about the file, if anything is."""
    if not digest.startswith(file.sha256):
        raise WeightsError(
            f"{path} is not the published {file.name}: its sha256 is {digest}, published is {file.sha256}. "
            f"Delete it and run `dogflow weights pull {reference}`."
        )


def _absent(entry: PublishedWeights, folder: Path) -> str:
    choices = " or ".join(f"{file.name} ({file.origin})" for file in entry.files)
    return (
        f"The weights of {entry.reference} are not on this machine. With a network, run "
        f"`dogflow weights pull {entry.reference}`. Without one, put {choices} into {folder}. "
        f"The reference `demo` needs neither (small models for synthetic pictures only)."
    )
