import json

import pytest
import torch
from diffusers import AutoencoderKL

from components.model.autoencoder import Autoencoder, load_autoencoder, pixels_to_samples, samples_to_pixels
from components.model.policy import autoencoder_policy
from components.model.published import AUTOENCODER, UNET
from components.model.weights import WeightsError, resolve


def network(**changes):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return AutoencoderKL(
            down_block_types=("DownEncoderBlock2D",) * 3,
            up_block_types=("UpDecoderBlock2D",) * 3,
            block_out_channels=(8, 8, 8),
            latent_channels=4,
            norm_num_groups=4,
            **changes,
        ).eval()


def pictures(count=2, side=16):
    return torch.randint(
        0, 256, (count, side, side, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(1)
    )


@pytest.fixture
def folder(tmp_path):
    network(scaling_factor=0.25).save_pretrained(tmp_path / "vae")
    return tmp_path / "vae"


def test_pixels_round_trip_through_samples():
    images = torch.arange(256, dtype=torch.uint8).reshape(1, 16, 16, 1).expand(-1, -1, -1, 3)
    samples = pixels_to_samples(images)
    assert samples.min() == -1 and samples.max() == 1
    assert torch.equal(samples_to_pixels(samples), images)


@pytest.mark.parametrize("shift", [None, 0.3])
def test_latents_are_shifted_and_scaled_means_and_decoding_takes_that_back(shift):
    net = network(scaling_factor=0.25, shift_factor=shift)
    images = pictures()
    with torch.no_grad():
        mean = net.encode(images.permute(0, 3, 1, 2) / 127.5 - 1).latent_dist.mean
        decoded = net.decode(mean).sample
    autoencoder = Autoencoder(net)
    latents = autoencoder.encode(images)
    assert torch.allclose(latents, (mean - (shift or 0)) * 0.25, atol=1e-6)
    expected = ((decoded + 1) * 127.5).clamp(0, 255).permute(0, 2, 3, 1)
    assert (autoencoder.decode(latents).float() - expected).abs().max() <= 0.51  # rounding


def test_it_works_in_float32_whatever_its_weights_are_stored_in(folder):
    network(scaling_factor=0.25).half().save_pretrained(folder)
    autoencoder = load_autoencoder(resolve(str(folder), AUTOENCODER))
    assert autoencoder.encode(pictures()).dtype == torch.float32


def test_the_policy_tells_the_shape_without_loading_the_weights(folder):
    policy = autoencoder_policy(resolve(str(folder), AUTOENCODER), 64)
    assert policy["shape"] == [4, 16, 16]
    latents = load_autoencoder(resolve(str(folder), AUTOENCODER)).encode(pictures(1, 64))
    assert list(latents.shape[1:]) == policy["shape"]
    with pytest.raises(ValueError, match="size_px=66 is no multiple of 4"):
        autoencoder_policy(resolve(str(folder), AUTOENCODER), 66)


def test_the_policy_does_not_depend_on_where_the_folder_is(folder, tmp_path):
    moved = folder.rename(tmp_path / "elsewhere")
    first = autoencoder_policy(resolve(str(moved), AUTOENCODER), 64)
    network(scaling_factor=0.25).save_pretrained(folder)
    assert autoencoder_policy(resolve(str(folder), AUTOENCODER), 64) == first


@pytest.mark.parametrize(("kind", "part"), [(AUTOENCODER, "'vae'"), (UNET, "'unet'")])
def test_what_is_no_folder_is_refused_with_what_to_do_offline(kind, part):
    with pytest.raises(WeightsError, match=f"no folder.*network.*{part} here"):
        resolve("sd-legacy/stable-diffusion", kind)


def test_folders_that_hold_something_else_are_refused_by_file(folder):
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(WeightsError, match=r"config\.json is no configuration of a diffusers AutoencoderKL"):
        autoencoder_policy(resolve(str(folder), AUTOENCODER), 64)
    (folder / "diffusion_pytorch_model.safetensors").unlink()
    with pytest.raises(WeightsError, match=r"has no diffusion_pytorch_model\.safetensors"):
        resolve(str(folder), AUTOENCODER)


def test_damaged_weights_are_an_error_that_names_the_folder(folder):
    (folder / "diffusion_pytorch_model.safetensors").write_bytes(b"not safetensors")
    with pytest.raises(WeightsError, match="vae holds no diffusers AutoencoderKL"):
        load_autoencoder(resolve(str(folder), AUTOENCODER))
