import hashlib
import json
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from safetensors.torch import save_file
from torch_fidelity.feature_extractor_inceptionv3 import FeatureExtractorInceptionV3

from components.metrics.extractors import EXTRACTORS, ExtractorError, load_extractor
from components.metrics.inception import Inception2015
from components.metrics.resize import resize_bicubic

CFG = {
    "embed_dim": 12,
    "vision_cfg": {"image_size": 32, "patch_size": 8, "width": 32, "layers": 2, "head_width": 16},
    "text_cfg": {"context_length": 8, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2},
}
IMAGES = np.random.default_rng(0).integers(0, 256, (5, 40, 40, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def clip_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("clip")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = open_clip.CLIP(**CFG)
    preprocess = {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.25, 0.3]}
    config = {"model_cfg": CFG, "preprocess_cfg": preprocess}
    (folder / "open_clip_config.json").write_text(json.dumps(config))
    save_file(dict(model.state_dict()), folder / "open_clip_model.safetensors")
    return folder


def test_demo_features_are_the_image_tower_of_the_given_folder(clip_folder):
    extractor = load_extractor("demo", clip_folder)
    model = open_clip.create_model(f"local-dir:{clip_folder}").eval()
    mean, std = (torch.tensor(v).reshape(1, 3, 1, 1) for v in ((0.4, 0.5, 0.6), (0.2, 0.25, 0.3)))
    with torch.no_grad():
        expected = model.encode_image((resize_bicubic(IMAGES, 32) / 255 - mean) / std)
    assert np.allclose(extractor.features(IMAGES, batch=2), expected.numpy(), atol=1e-5)


def test_identity_carries_the_hash_of_the_weights_and_the_label_says_it_is_not_fid(clip_folder):
    extractor = load_extractor("demo", clip_folder)
    weights = (clip_folder / "open_clip_model.safetensors").read_bytes()
    identity = extractor.identity("set-9")
    assert identity.weights == hashlib.sha256(weights).hexdigest()
    assert (identity.extractor, identity.resize) == ("demo", "bicubic-antialias-float-32")
    assert identity.data == "set-9" and "not FID" in extractor.label and not extractor.is_fid
    assert load_extractor("clip", clip_folder).identity("set-9") != identity


def test_only_the_inception_of_2015_is_called_fid():
    assert [name for name, spec in EXTRACTORS.items() if spec.is_fid] == ["inception-2015"]


@pytest.mark.slow
def test_inception_port_equals_torch_fidelity_with_the_same_weights(tmp_path):
    """Random weights: their file is the same layout, and every block takes part in the output."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        reference = Inception2015()
    state = reference.net.state_dict()
    g = torch.Generator().manual_seed(1)
    for name, value in state.items():
        if name.endswith(("running_mean", "bn.bias")):
            value.normal_(0, 0.1, generator=g)
        elif value.dim() == 4:
            value.normal_(0, value[0].numel() ** -0.5 * 1.4, generator=g)
    state |= {"fc.weight": torch.zeros(1008, 2048), "fc.bias": torch.zeros(1008)}
    torch.save(state, tmp_path / "inception.pth")
    ours = load_extractor("inception-2015", tmp_path / "inception.pth")
    images = np.random.default_rng(2).integers(0, 256, (2, 299, 299, 3), dtype=np.uint8)
    theirs = FeatureExtractorInceptionV3(
        "inception", ["2048"], feature_extractor_weights_path=str(tmp_path / "inception.pth")
    )
    with torch.no_grad():
        expected = theirs(torch.from_numpy(images).permute(0, 3, 1, 2))[0].numpy()
    found = ours.features(images)
    assert found.shape == (2, 2048) and found.std() > 1e-3
    assert np.allclose(found, expected, rtol=1e-3, atol=1e-5 + 1e-4 * np.abs(expected).max())


def test_dinov2_features_are_the_class_token_of_a_local_folder(tmp_path):
    from transformers import Dinov2Config, Dinov2Model

    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = Dinov2Config(hidden_size=24, num_hidden_layers=2, num_attention_heads=2, image_size=224)
        model = Dinov2Model(config).eval()
    model.save_pretrained(tmp_path)
    extractor = load_extractor("dinov2", tmp_path)
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    pixels = (resize_bicubic(IMAGES, 224) / 255 - mean.reshape(1, 3, 1, 1)) / std.reshape(1, 3, 1, 1)
    with torch.no_grad():
        expected = model(pixels).last_hidden_state[:, 0].numpy()
    assert np.allclose(extractor.features(IMAGES), expected, atol=1e-5)


@pytest.mark.parametrize("name", sorted(EXTRACTORS))
def test_absent_weights_are_an_error_that_names_what_to_get(name, tmp_path):
    with pytest.raises(ExtractorError, match="downloads nothing"):
        load_extractor(name, tmp_path / "absent")
    with pytest.raises(ExtractorError, match="no path was given"):
        load_extractor(name, "")


def test_damaged_weights_and_unknown_names_are_refused(tmp_path):
    (tmp_path / "bad.pth").write_bytes(b"not weights")
    with pytest.raises(ExtractorError, match="cannot be loaded"):
        load_extractor("inception-2015", tmp_path / "bad.pth").features(IMAGES)
    for part in ("weights_sha256", "size_px"):  # of an empty folder
        with pytest.raises(ExtractorError, match=r"open_clip_(model|config).*Needed: a folder"):
            getattr(load_extractor("clip", tmp_path), part)
    with pytest.raises(ExtractorError, match="dinov2"):
        load_extractor("inception", tmp_path)
