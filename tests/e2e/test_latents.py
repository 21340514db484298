"""Training on an autoencoder's latents, from a published U-Net: tiny ones of the same classes."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from diffusers import AutoencoderKL, UNet2DConditionModel

from components.data.artifacts import fetch_file
from components.data.encoded import EMPTY_TEXT_ID, EncodedDataset
from components.data.pictures import pictures_from_parquet
from components.data.storage import open_store
from components.model.checkpoint import load_model
from components.model.generate import SamplingOptions, generate
from components.model.text import stack_states
from components.sampling.requests import evaluation_requests
from pipelines.runners.bare import read_manifest


def autoencoder(folder, seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = AutoencoderKL(
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
            block_out_channels=(8, 8),
            latent_channels=4,
            norm_num_groups=4,
            scaling_factor=0.5,
        )
    network.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A U-Net and two autoencoders, as diffusers stores them."""
    folder = tmp_path_factory.mktemp("diffusers")
    with torch.random.fork_rng():
        torch.manual_seed(3)
        unet = UNet2DConditionModel(
            sample_size=8,
            in_channels=4,
            out_channels=4,
            block_out_channels=(8, 16),
            layers_per_block=1,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
            cross_attention_dim=32,
            attention_head_dim=2,
            norm_num_groups=4,
        )
    unet.save_pretrained(folder / "unet")
    return {
        "unet": str(folder / "unet"),
        "vae": autoencoder(folder / "vae", 1),
        "other": autoencoder(folder / "other", 2),
    }


@pytest.fixture(scope="module")
def chain(whole_chain, folders):
    """From encoding to sampling."""
    changes = {
        "encoding": {"autoencoder": folders["vae"]},
        "initialization": {"preset": "tiny-latent", "unet": folders["unet"]},
        "training": {"steps": 3},
        "sampling": {},
    }
    found = {step.name: step for step in whole_chain}
    return [
        replace(found[name], options={**found[name].options, **values}) for name, values in changes.items()
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory, steps, undisturbed, root_before, chain):
    """(uri, manifests by step) of the chain."""
    uri = (tmp_path_factory.mktemp("latents") / "root").as_uri()
    root_before("encoding", uri)
    done = {"selection": undisturbed.paths["selection"]}
    paths = steps.must(uri, chain, done=done).paths
    return uri, {name: read_manifest(paths[name], uri) for name in paths}


def test_stored_latents_are_the_scaled_means_of_each_picture_and_of_its_mirror_image(made, folders):
    uri, manifests = made
    encoded = EncodedDataset(open_store(uri), manifests["encoding"])
    rows = np.arange(len(encoded))
    pictures = encoded.samples(rows)
    network = AutoencoderKL.from_pretrained(folders["vae"]).eval()
    for mirrored, shown in ((False, pictures), (True, pictures[:, :, ::-1])):
        x = torch.from_numpy(shown.copy()).permute(0, 3, 1, 2) / 127.5 - 1
        with torch.no_grad():
            expected = network.encode(x).latent_dist.mean * 0.5
        found = encoded.latents(rows, mirrored=mirrored)
        assert found.shape == (len(encoded), 4, 8, 8)
        np.testing.assert_allclose(found, expected.numpy(), atol=2e-3, rtol=2e-3)  # float16
    assert not np.allclose(encoded.latents(rows)[..., ::-1], encoded.latents(rows, mirrored=True), atol=0.05)


def test_the_first_model_has_the_unets_weights_to_the_bit(made, folders):
    uri, manifests = made
    network = load_model(open_store(uri), manifests["initialization"]).network.backbone
    published = UNet2DConditionModel.from_pretrained(folders["unet"])
    assert published.state_dict().keys() == network.state_dict().keys()
    for name, value in published.state_dict().items():
        assert torch.equal(value, network.state_dict()[name])


def test_samples_are_what_the_autoencoder_makes_of_the_models_latents(made, folders):
    """Drawn here with a decoder of nothing but diffusers."""
    uri, manifests = made
    store = open_store(uri)
    drawn, _ = pictures_from_parquet(fetch_file(store, manifests["sampling"].files["samples"]))
    encoded = EncodedDataset(store, manifests["encoding"])
    breeds = manifests["training"].details["breeds"]
    requests = evaluation_requests(encoded, breeds, 2, 0)
    decoder = AutoencoderKL.from_pretrained(folders["vae"]).eval()

    def decode(latents):
        pictures = (decoder.decode(latents / 0.5).sample + 1) * 127.5
        return pictures.clamp(0, 255).round().to(torch.uint8).permute(0, 2, 3, 1)

    def states(ids):
        return [torch.from_numpy(state.astype(np.float32)) for state in encoded.text_states(ids)]

    expected = generate(
        load_model(store, manifests["training"]),
        stack_states(states([request.text_id for request in requests])),
        torch.tensor([request.breed for request in requests]),
        [request.seed for request in requests],
        states([EMPTY_TEXT_ID])[0],
        SamplingOptions(steps=2),
        decode,
    ).images
    assert drawn.shape == expected.shape == (2 * len(breeds), 16, 16, 3)
    assert np.abs(drawn.astype(int) - expected.astype(int)).max() <= 1


def test_the_same_again_makes_nothing(made, steps, undisturbed, chain):
    uri, manifests = made
    before = {entry.path for entry in open_store(uri).list("")}
    done = {"selection": undisturbed.paths["selection"]}
    paths = steps.must(uri, chain, done=done).paths
    assert {entry.path for entry in open_store(uri).list("")} == before
    assert all(paths[name] == manifest.path for name, manifest in manifests.items() if name in paths)


def test_another_autoencoder_is_refused_for_drawing(made, steps, chain, folders):
    uri, manifests = made
    done = {name: manifest.path for name, manifest in manifests.items()}
    sampling = replace(chain[-1], options={**chain[-1].options, "autoencoder": folders["other"]})
    ended = steps.run(uri, [sampling], done=done)
    assert ended.returncode != 0
    assert "sampling.autoencoder=" in ended.log and "give that one's folder" in ended.log
