"""The weights that can be named instead of pointed to: open_clip's own table and the three SAM checkpoints.

Nothing here downloads. CLIP entries come from open_clip's table, so they change with that library; SAM's
addresses, sizes and checksums are constants, for segment_anything ships no table.
"""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

CLIP = "clip"
SAM = "sam"
AUTOENCODER = "autoencoder"
UNET = "unet"

# What dogflow's profiles and documents name; `weights list --all` shows the rest of open_clip's table.
NAMED_CLIP = ("ViT-L-14/openai", "ViT-B-32/openai", "ViT-B-32/laion2b_s34b_b79k")

_SAM_BASE_URL = "https://dl.fbaipublicfiles.com/segment_anything"


@dataclass(frozen=True)
class WeightsFile:
    """One file that holds a published model.

    `url` is a direct address, or `hub_repository` a repository of the Hugging Face hub. `sha256` may be a
    prefix (open_clip's releases publish 8 digits) and is "" when nothing is published; `size_bytes` 0 is
    unknown.
    """

    name: str
    url: str = ""
    hub_repository: str = ""
    sha256: str = ""
    size_bytes: int = 0

    @property
    def origin(self) -> str:
        return self.url or f"{self.hub_repository} on the Hugging Face hub"


@dataclass(frozen=True)
class PublishedWeights:
    """A reference and the files that hold it, any one of which is enough; the best-checked one first."""

    reference: str
    kind: str
    files: tuple[WeightsFile, ...]


# The six digits in these names are the start of the MD5, not of the sha256.
_SAM_FILES = {
    "vit_b": WeightsFile(
        "sam_vit_b_01ec64.pth",
        url=f"{_SAM_BASE_URL}/sam_vit_b_01ec64.pth",
        sha256="ec2df62732614e57411cdcf32a23ffdf28910380d03139ee0f4fcbe91eb8c912",
        size_bytes=375_042_383,
    ),
    "vit_l": WeightsFile(
        "sam_vit_l_0b3195.pth",
        url=f"{_SAM_BASE_URL}/sam_vit_l_0b3195.pth",
        sha256="3adcc4315b642a4d2101128f611684e8734c41232a17c648ed1693702a49a622",
        size_bytes=1_249_524_607,
    ),
    "vit_h": WeightsFile(
        "sam_vit_h_4b8939.pth",
        url=f"{_SAM_BASE_URL}/sam_vit_h_4b8939.pth",
        sha256="a7bf3b02f3ebf1267aba913ff637d9a2d5c33d3173bb679e46d9f338c26f262e",
        size_bytes=2_564_550_879,
    ),
}


def published(reference: str, kind: str) -> PublishedWeights | None:
    """The entry of "vit_b" (kind "sam") or "ViT-L-14/openai" (kind "clip"); None when there is none.

    Autoencoders and U-Nets have none: they are given as folders.
    """
    if kind in (AUTOENCODER, UNET):
        return None
    if kind == SAM:
        file = _SAM_FILES.get(reference)
        return PublishedWeights(reference, SAM, (file,)) if file else None
    if kind == CLIP:
        return _clip(reference)
    raise ValueError(f"There is no kind of weights {kind!r}; choose {CLIP} or {SAM}.")


def kind_of(reference: str) -> str:
    """ "sam" for the three SAM names, else "clip"."""
    return SAM if reference in _SAM_FILES else CLIP


def list_published(*, everything: bool = False) -> list[PublishedWeights]:
    """The models dogflow names, or with `everything` all of open_clip's table too."""
    references = list(NAMED_CLIP)
    if everything:
        import open_clip

        references += [f"{model}/{tag}" for model, tag in open_clip.list_pretrained()]
    entries = [published(reference, CLIP) for reference in dict.fromkeys(references)]
    entries += [published(name, SAM) for name in _SAM_FILES]
    return [entry for entry in entries if entry is not None and entry.files]


def _clip(reference: str) -> PublishedWeights | None:
    # Imported here, for it imports torch, and a table of names must not cost seconds.
    import open_clip

    model, separator, tag = reference.rpartition("/")
    config = open_clip.get_pretrained_cfg(model, tag) if separator else None
    if not config:
        return None
    files = []
    if config.get("url"):
        files.append(_from_url(config["url"]))
    if config.get("hf_hub"):
        files.extend(_from_hub(config["hf_hub"]))
    # A whole checksum is the best proof of identity; a safetensors file comes before any pickle.
    files.sort(key=lambda file: (len(file.sha256) < 64, not file.name.endswith(".safetensors")))
    return PublishedWeights(reference, CLIP, tuple(files))


def _from_url(url: str) -> WeightsFile:
    path = PurePosixPath(url)
    whole = re.fullmatch(r"[0-9a-f]{64}", path.parent.name)
    start = re.search(r"-([0-9a-f]{8})$", path.stem) if "open_clip/releases" in url else None
    digest = whole[0] if whole else start[1] if start else ""
    return WeightsFile(path.name, url=url, sha256=digest)


def _from_hub(entry: str) -> list[WeightsFile]:
    repository, _, name = entry.rpartition("/")
    if name:
        names = [str(PurePosixPath(name).with_suffix(".safetensors")), name]
    else:
        names = ["open_clip_model.safetensors", "open_clip_pytorch_model.bin"]
    return [WeightsFile(name, hub_repository=repository) for name in dict.fromkeys(names)]
