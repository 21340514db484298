"""CLIP by reference: equal to upstream's forward, unit vectors, a pinned policy, named errors."""

import json
import warnings

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from components.model.clip import _archive_state, bf16_drift, load_clip
from components.model.weights import ResolvedWeights, WeightsError
from components.similarity.cosine import cosine

TINY = {
    "embed_dim": 32,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 64, "patch_size": 8, "head_width": 32},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2},
}
MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.25, 0.3)
TEXTS = ["a beagle on grass", "two black cats", "eine Katze 犬"]


def pictures() -> list[np.ndarray]:
    rng = np.random.default_rng(17)
    ramp = np.linspace(0, 255, 90 * 70 * 3).reshape(90, 70, 3)
    return [rng.integers(0, 256, (40, 60, 3), dtype=np.uint8), ramp.astype(np.uint8)]


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clip")
    preprocess = {"mean": MEAN, "std": STD, "interpolation": "bicubic", "resize_mode": "shortest"}
    (folder / "open_clip_config.json").write_text(
        json.dumps({"model_cfg": TINY, "preprocess_cfg": preprocess})
    )
    with torch.random.fork_rng():
        torch.manual_seed(4)
        model = open_clip.CLIP(**TINY)
    save_file(
        {key: value.contiguous() for key, value in model.state_dict().items()},
        folder / "open_clip_model.safetensors",
    )
    return folder


def upstream_vectors(model, transform, tokenizer) -> tuple[np.ndarray, np.ndarray]:
    with torch.inference_mode():
        batch = torch.stack([transform(Image.fromarray(picture)) for picture in pictures()])
        images = model.encode_image(batch, normalize=True)
        texts = model.encode_text(tokenizer(TEXTS), normalize=True)
    return images.numpy(), texts.numpy()


def test_a_folder_gives_the_vectors_that_open_clip_gives(tiny_folder):
    ours = load_clip(str(tiny_folder), device="cpu", dtype="fp32")
    theirs, _, transform = open_clip.create_model_and_transforms(f"local-dir:{tiny_folder}")
    images, texts = upstream_vectors(
        theirs.eval(), transform, open_clip.get_tokenizer(f"local-dir:{tiny_folder}")
    )
    np.testing.assert_allclose(ours.embed_images(pictures()), images, atol=1e-6)
    np.testing.assert_allclose(ours.embed_texts(TEXTS), texts, atol=1e-6)
    assert ours.logit_scale == pytest.approx(float(theirs.logit_scale.detach().exp()))
    assert ours.embed_dim == images.shape[1]


def test_cosine_of_a_pair_equals_the_computation_by_hand(tiny_folder):
    """Resize, crop, normalise, both towers and the cosine, written out without open_clip's transform."""
    ours = load_clip(str(tiny_folder), device="cpu", dtype="fp32")
    picture = pictures()[0]
    small = Image.fromarray(picture).resize((48, 32), Image.Resampling.BICUBIC)
    pixels = np.asarray(small, np.float32)[:, 8:40] / 255
    batch = torch.from_numpy(((pixels - MEAN) / STD).astype(np.float32)).permute(2, 0, 1)[None]
    with torch.inference_mode():
        image = ours.network.visual(batch)[0].double().numpy()
        text = ours.network.encode_text(ours.tokenizer([TEXTS[0]]))[0].double().numpy()
    expected = image @ text / np.sqrt(image @ image) / np.sqrt(text @ text)
    actual = cosine(ours.embed_images([picture]), ours.embed_texts([TEXTS[0]]))
    np.testing.assert_allclose(actual, [expected], atol=2e-6)


def test_vectors_have_unit_length_and_do_not_depend_on_the_batch(tiny_folder):
    ours = load_clip(str(tiny_folder), device="cpu", dtype="fp32")
    together = ours.embed_images(pictures() * 3, batch_size=4)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(together[4], ours.embed_images(pictures()[:1])[0], atol=1e-5)
    assert ours.embed_images([]).shape == (0, 32)
    assert ours.embed_texts([]).shape == (0, 32)


def test_bf16_drift_is_zero_for_fp32_and_small_but_measured_for_bf16(tiny_folder):
    exact = load_clip(str(tiny_folder), device="cpu", dtype="fp32")
    rounded = load_clip(str(tiny_folder), device="cpu", dtype="bf16")
    assert bf16_drift(exact, pictures(), TEXTS) == 0.0
    drift = bf16_drift(rounded, pictures(), TEXTS)
    difference = rounded.embed_images(pictures()) @ rounded.embed_texts(TEXTS).T
    difference -= exact.embed_images(pictures()) @ exact.embed_texts(TEXTS).T
    assert drift == pytest.approx(np.abs(difference).max(), abs=1e-7)
    assert 0 < drift < 0.02


def test_pictures_of_another_kind_are_refused(tiny_folder):
    ours = load_clip(str(tiny_folder), device="cpu")
    with pytest.raises(ValueError, match="Picture 1 is float32"):
        ours.embed_images([pictures()[0], pictures()[1].astype(np.float32)])
    with pytest.raises(ValueError, match="Picture 0 is uint8"):
        ours.embed_images([pictures()[0][:, :, 0]])


def test_weights_of_another_size_name_the_file(tiny_folder, tmp_path):
    config = {"model_cfg": {**TINY, "embed_dim": 16}, "preprocess_cfg": {}}
    (tmp_path / "open_clip_config.json").write_text(json.dumps(config))
    (tmp_path / "open_clip_model.safetensors").write_bytes(
        (tiny_folder / "open_clip_model.safetensors").read_bytes()
    )
    with pytest.raises(WeightsError, match=r"open_clip_model\.safetensors cannot be loaded"):
        load_clip(str(tmp_path))


def test_an_architecture_that_needs_the_hub_is_refused(tmp_path):
    (tmp_path / "w.safetensors").write_bytes(b"x")
    with pytest.raises(WeightsError, match="nothing is fetched at run time"):
        load_clip(f"ViT-B-16-SigLIP@{tmp_path / 'w.safetensors'}")
    with pytest.raises(WeightsError, match="knows no architecture"):
        load_clip(f"ViT-Z-99@{tmp_path / 'w.safetensors'}")


def test_an_openai_archive_gives_its_tensors_only_when_its_bytes_are_the_published_ones(tmp_path):
    class Archive(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.5]).half())
            self.register_buffer("input_resolution", torch.tensor(224))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.weight.float()

    path = tmp_path / "ViT-L-14.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        torch.jit.save(torch.jit.script(Archive()), str(path))
    fields = {"reference": "ViT-L-14/openai", "kind": "clip", "path": path, "sha256": "0" * 64}
    state = _archive_state(ResolvedWeights(**fields, published=True))
    assert list(state) == ["weight"]
    torch.testing.assert_close(state["weight"], torch.tensor([1.0, 2.5]))
    with pytest.raises(WeightsError, match="TorchScript archive"):
        _archive_state(ResolvedWeights(**fields))


@pytest.mark.slow
def test_official_vit_l_14_equals_the_upstream_forward_with_the_same_weights(tmp_path, monkeypatch):
    """Also that the tag's QuickGELU is honoured: "ViT-L-14" plus "openai" alone would silently use GELU."""
    monkeypatch.setenv("DOGFLOW_WEIGHTS", str(tmp_path))
    path = tmp_path / "clip" / "ViT-L-14--openai" / "open_clip_model.safetensors"
    path.parent.mkdir(parents=True)
    with torch.random.fork_rng():
        torch.manual_seed(9)
        model = open_clip.create_model("ViT-L-14-quickgelu")
    # Half precision keeps the file under 1 GB; both sides widen it alike.
    save_file({key: value.half().contiguous() for key, value in model.state_dict().items()}, path)
    del model
    ours = load_clip("ViT-L-14/openai", device="cpu", dtype="fp32")
    images, texts = ours.embed_images(pictures()), ours.embed_texts(TEXTS)
    assert (images.shape, texts.shape) == ((2, 768), (3, 768))
    del ours
    theirs, _, transform = open_clip.create_model_and_transforms("ViT-L-14-quickgelu", pretrained=str(path))
    expected = upstream_vectors(theirs.eval(), transform, open_clip.get_tokenizer("ViT-L-14"))
    np.testing.assert_allclose(images, expected[0], atol=1e-6)
    np.testing.assert_allclose(texts, expected[1], atol=1e-6)
    np.testing.assert_allclose(cosine(images[:1], texts[:1]), [expected[0][0] @ expected[1][0]], atol=1e-6)
