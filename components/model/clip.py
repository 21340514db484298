"""open_clip models by reference, with everything that changes a score pinned in a policy."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import open_clip
import torch
from open_clip.transform import PreprocessCfg, image_transform_v2
from PIL import Image

from components.model.device import dtype_name, pick_device, pick_dtype, precision
from components.model.policy import clip_policy
from components.model.published import CLIP
from components.model.weights import ResolvedWeights, WeightsError, resolve

# Sizes that OpenAI's TorchScript archives carry beside their tensors.
_ARCHIVE_EXTRAS = ("input_resolution", "context_length", "vocab_size")


@dataclass(frozen=True)
class ClipModel:
    """A CLIP model that turns pictures and texts into comparable unit vectors. Threads may share it.

    `policy` is what changes a score, see components.model.policy. `image_size` is the side of the square that
    the image tower sees, in px.
    """

    reference: str
    network: Any  # open_clip's CLIP or CustomTextCLIP, which torch's stubs cannot describe
    tokenizer: Callable[[list[str]], torch.Tensor]
    transform: Callable[[Image.Image], torch.Tensor]
    device: torch.device
    dtype: torch.dtype
    image_size: int
    embed_dim: int
    policy: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)  # open_clip's model configuration

    @property
    def logit_scale(self) -> float:
        """The learned factor of cosines before a softmax (100 for OpenAI's models)."""
        return float(self.network.logit_scale.detach().float().exp())

    def embed_images(self, images: Sequence[np.ndarray], batch_size: int = 16) -> np.ndarray:
        """(H,W,3) uint8 sRGB pictures of any sizes -> (N, embed_dim) float32 unit vectors.

        Resized and cropped by open_clip's own PIL transform. Raises ValueError for another shape or dtype.
        """
        for index, image in enumerate(images):
            if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
                raise ValueError(
                    f"Picture {index} is {image.dtype} {image.shape}; CLIP needs uint8 (H, W, 3)."
                )
        batches = (
            torch.stack(
                [self.transform(Image.fromarray(image)) for image in images[start : start + batch_size]]
            )
            for start in range(0, len(images), batch_size)
        )
        return self._embed(self.network.encode_image, batches)

    def embed_texts(self, texts: Sequence[str], batch_size: int = 64) -> np.ndarray:
        """Texts -> (N, embed_dim) float32 unit vectors. The tokenizer cuts beyond the context length."""
        batches = (
            self.tokenizer(list(texts[start : start + batch_size]))
            for start in range(0, len(texts), batch_size)
        )
        return self._embed(self.network.encode_text, batches)

    def _embed(self, encode: Callable[[torch.Tensor], torch.Tensor], batches: Any) -> np.ndarray:
        vectors = [np.zeros((0, self.embed_dim), np.float32)]
        with torch.inference_mode(), precision(self.device, self.dtype):
            for batch in batches:
                encoded = encode(batch.to(self.device, non_blocking=True)).float()
                vectors.append(torch.nn.functional.normalize(encoded, dim=-1).cpu().numpy())
        return np.concatenate(vectors)


def load_clip(reference: str, *, device: str = "auto", dtype: str = "auto") -> ClipModel:
    """Load a CLIP model by reference (see components.model.weights); never downloads.

    The weights stay in fp32; with bf16 the matrix products run in bf16. Raises WeightsError, DeviceError.
    """
    place = pick_device(device)
    arithmetic = pick_dtype(dtype, place)
    resolved = resolve(reference, CLIP)
    name = f"local-dir:{resolved.path.parent}" if resolved.folder else resolved.model_name
    config = _config(name, resolved)
    try:
        network = _create(name, resolved)
        tokenizer = open_clip.get_tokenizer(name)
    except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
        raise WeightsError(
            f"{resolved.path} cannot be loaded as the CLIP model {reference}: {error}"
        ) from error
    network = network.requires_grad_(False).eval().to(place)
    preprocessing = dict(network.visual.preprocess_cfg)
    size = preprocessing["size"]
    return ClipModel(
        reference=reference,
        network=network,
        tokenizer=tokenizer,
        transform=image_transform_v2(PreprocessCfg(**preprocessing), is_train=False),
        device=place,
        dtype=arithmetic,
        image_size=size if isinstance(size, int) else max(size),
        embed_dim=int(config["embed_dim"]),
        policy=clip_policy(resolved, dtype_name(arithmetic)),
        config=config,
    )


def bf16_drift(model: ClipModel, images: Sequence[np.ndarray], texts: Sequence[str]) -> float:
    """Largest |cosine in bf16 - cosine in fp32| over all pairs of `images` and `texts`; 0 for an fp32 model.

    Runs the pictures once more in fp32, with the same weights.
    """
    if model.dtype is torch.float32 or not len(images) or not len(texts):
        return 0.0
    exact = ClipModel(**{**model.__dict__, "dtype": torch.float32})
    rounded = model.embed_images(images) @ model.embed_texts(texts).T
    return float(np.abs(rounded - exact.embed_images(images) @ exact.embed_texts(texts).T).max())


def _config(name: str, resolved: ResolvedWeights) -> dict[str, Any]:
    """open_clip's model configuration, refused when it would need files from the hub."""
    try:
        config = open_clip.get_model_config(name)
    except (OSError, ValueError) as error:
        raise WeightsError(
            f"{resolved.path.parent / 'open_clip_config.json'} cannot be read: {error}"
        ) from error
    if config is None:
        raise WeightsError(f"open_clip knows no architecture {name!r}; `open_clip.list_models()` lists them.")
    text = config.get("text_cfg", {})
    needs_hub = text.get("hf_model_name") or (text.get("hf_tokenizer_name") and not resolved.folder)
    if needs_hub:
        raise WeightsError(
            f"{resolved.reference} takes its text tower or tokenizer from the Hugging Face hub, and nothing "
            f"is fetched at run time. Use a CLIP with open_clip's built-in tokenizer, such as "
            f"ViT-L-14/openai, or a folder that holds the tokenizer's files."
        )
    return config


def _create(name: str, resolved: ResolvedWeights) -> Any:
    if resolved.folder:
        return open_clip.create_model(name, precision="fp32", device="cpu")
    tag = open_clip.get_pretrained_cfg(resolved.model_name, resolved.tag) if resolved.tag else {}
    # open_clip only warns when a tag was trained with QuickGELU and the architecture's name does not say so;
    # every score would be slightly wrong.
    quick_gelu = bool(tag.get("quick_gelu"))
    preprocessing = {key: tag[key] for key in ("mean", "std", "interpolation", "resize_mode") if key in tag}
    archive = _archive_state(resolved) if _is_archive(resolved) else None
    network = open_clip.create_model(
        name,
        pretrained=None if archive else str(resolved.path),
        precision="fp32",
        device="cpu",
        force_quick_gelu=quick_gelu,
        force_preprocess_cfg=preprocessing,
        pretrained_text=False,
    )
    if archive is not None:
        network.load_state_dict(archive)
    return network


def _is_archive(resolved: ResolvedWeights) -> bool:
    # OpenAI's files are TorchScript archives; all others are state dictionaries.
    return resolved.path.suffix == ".pt" and resolved.reference.endswith("/openai")


def _archive_state(resolved: ResolvedWeights) -> dict[str, torch.Tensor]:
    """The tensors of an OpenAI archive. An archive holds code, so only the published bytes are opened."""
    if not resolved.published:
        raise WeightsError(f"{resolved.path} is a TorchScript archive whose sha256 is not a published one.")
    with warnings.catch_warnings():
        # torch means to drop the format, which these files will keep.
        warnings.simplefilter("ignore", FutureWarning)
        state = torch.jit.load(str(resolved.path), map_location="cpu").state_dict()
    return {key: value.float() for key, value in state.items() if key not in _ARCHIVE_EXTRAS}
