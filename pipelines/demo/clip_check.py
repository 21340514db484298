"""How good the demo's CLIP model is: matched against one-attribute-swapped captions, and zero-shot breeds.

`python -m pipelines.demo.clip_check [FOLDER]` prints the figures.
"""

import argparse
from pathlib import Path

import numpy as np
import open_clip
import torch
from PIL import Image

from components.data.breeds import default_breeds
from pipelines.demo.breeds import BREEDS
from pipelines.demo.captions import caption, swapped_caption
from pipelines.demo.render import render
from pipelines.demo.spec import DogSpec, breed_spec, free_spec, held_out

FOLDER = Path(__file__).parent / "models" / "clip"


class ClipModel:
    """A model in open_clip's local folder layout, on the CPU, in float32."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.model, _, self.preprocess = open_clip.create_model_and_transforms(f"local-dir:{folder}")
        self.model.eval()
        self.tokenizer = open_clip.get_tokenizer(f"local-dir:{folder}")

    @torch.inference_mode()
    def images(self, pictures: list[np.ndarray]) -> np.ndarray:
        """Unit embeddings (N,D) of pictures (H,W,3) uint8."""
        batch = torch.stack([self.preprocess(Image.fromarray(picture)) for picture in pictures])
        return self.model.encode_image(batch, normalize=True).numpy()

    @torch.inference_mode()
    def texts(self, texts: list[str]) -> np.ndarray:
        """Unit embeddings (N,D)."""
        return self.model.encode_text(self.tokenizer(texts), normalize=True).numpy()


def auc(matched: np.ndarray, swapped: np.ndarray) -> float:
    """Probability that a matched score exceeds a swapped one, ties counted half (Mann-Whitney U / nm)."""
    both = np.concatenate([matched, swapped])
    _, inverse, counts = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    n, m = len(matched), len(swapped)
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))


def held_out_specs(count: int, seed: int) -> list[DogSpec]:
    """Dogs in combinations that training never shows, half of them of a breed where one has such a place."""
    rng = np.random.default_rng([seed, 21])
    specs: list[DogSpec] = []
    while len(specs) < count:
        breed = len(specs) % 2 == 1
        spec = breed_spec(str(rng.choice(list(BREEDS))), rng) if breed else free_spec(rng)
        if held_out(spec):
            specs.append(spec)
    return specs


def swap_scores(
    model: ClipModel, specs: list[DogSpec], seed: int
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Cosines of each picture with its caption and with one that has one statement wrong, and which one."""
    rng = np.random.default_rng([seed, 22])
    seeds = [int(s) for s in rng.integers(2**31, size=len(specs))]
    swaps = [swapped_caption(spec, s, rng) for spec, s in zip(specs, seeds, strict=True)]
    pictures = model.images([render(spec, 176)[0] for spec in specs])
    matched = model.texts([caption(spec, s).text for spec, s in zip(specs, seeds, strict=True)])
    wrong = model.texts([told.text for told, _ in swaps])
    return (pictures * matched).sum(1), (pictures * wrong).sum(1), [name for _, name in swaps]


def breed_probabilities(model: ClipModel, pictures: list[np.ndarray], keys: list[str]) -> np.ndarray:
    """Zero-shot probabilities (N, len(keys)): softmax of logit scale * cosine with "a photo of a ..."."""
    table = default_breeds()
    names = model.texts([f"a photo of a {table[key].name}, a type of dog." for key in keys])
    logits = float(model.model.logit_scale.detach().exp()) * model.images(pictures) @ names.T
    weights = np.exp(logits - logits.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def main() -> None:
    """Command line: prints AUC on held-out combinations, by attribute, and zero-shot accuracy."""
    parser = argparse.ArgumentParser(description="Measure the demo's CLIP model.")
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--count", type=int, default=600)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = ClipModel(options.folder)
    matched, swapped, names = swap_scores(model, held_out_specs(options.count, 0), 0)
    print(f"AUC on held-out combinations: {auc(matched, swapped):.4f}")
    print(f"pairs in the right order: {(matched > swapped).mean():.4f}")
    for name in sorted(set(names)):
        chosen = np.array([n == name for n in names])
        print(f"  {name:10} {auc(matched, swapped[chosen]):.4f} over {chosen.sum()}")
    rng = np.random.default_rng(23)
    keys = [key for key in BREEDS for _ in range(25)]
    pictures = [render(breed_spec(key, rng), 176)[0] for key in keys]
    for known in (list(BREEDS), list(default_breeds().breeds)):
        chances = breed_probabilities(model, pictures, known)
        own = chances[np.arange(len(keys)), [known.index(key) for key in keys]]
        right = np.mean([known[i] == key for i, key in zip(chances.argmax(1), keys, strict=True)])
        print(f"zero-shot over {len(known)} breeds: {right:.3f} right; confidence mean {own.mean():.3f}, "
              f"10th percentile {np.percentile(own, 10):.3f}")  # fmt: skip


if __name__ == "__main__":
    main()
