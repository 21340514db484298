import numpy as np
import pytest
import torch

from components.model.autoencoder import pixels_to_samples, samples_to_pixels
from components.model.flow_model import FlowModel, build_flow_model
from components.model.generate import SamplingOptions, generate, initial_noise
from components.model.network import NetworkConfig
from components.model.text import TextStates, UpperText
from components.model.unet import FlowUNet

TEXT = {"context_length": 16, "vocab_size": 64, "width": 24, "heads": 4, "layers": 4}
CONFIG = NetworkConfig(
    preset="test",
    size_px=16,
    patch=1,
    widths=(16, 32),
    attention=(False, True),
    layers=1,
    text_width=24,
    num_breeds=4,
)


@pytest.fixture(scope="module")
def model():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = FlowModel(FlowUNet(CONFIG), UpperText(TEXT))
        for parameter in model.network.breed_parameters():
            torch.nn.init.normal_(parameter)
    return model.eval()


def states(rows):
    g = torch.Generator().manual_seed(1)
    mask = torch.arange(5) < torch.randint(2, 6, (rows, 1), generator=g)
    return TextStates(torch.randn(rows, 5, 24, generator=g), mask)


NULL = torch.randn(2, 24, generator=torch.Generator().manual_seed(2))


def test_noise_of_a_seed_is_the_same_alone_and_in_any_batch():
    batch = initial_noise([5, 6, 7, 5], (3, 4, 4))
    assert torch.equal(batch[2], initial_noise([7], (3, 4, 4))[0])
    assert torch.equal(batch[0], batch[3]) and not torch.equal(batch[0], batch[1])


@pytest.mark.parametrize("guidance", [1.0, 2.5])
def test_an_image_alone_and_in_a_batch_of_seven_differ_by_one_grey_level_at_most(model, guidance):
    options = SamplingOptions(steps=4, guidance=guidance)
    text, breeds, seeds = states(7), torch.tensor([0, 1, 2, 3, 4, 0, 1]), list(range(7))
    together = generate(model, text, breeds, seeds, NULL, options)
    assert together.images.shape == (7, 16, 16, 3) and together.images.dtype == np.uint8
    hidden, mask = text.row(3)
    alone = generate(model, TextStates(hidden[None], mask[None]), breeds[3:4], [3], NULL, options)
    difference = np.abs(together.images[3].astype(int) - alone.images[0].astype(int))
    assert difference.max() <= 1
    assert together.images[3].std() > 1  # a picture, not a constant


def test_evaluations_per_image_are_reported(model):
    heun = SamplingOptions(steps=3, solver="heun", batch=2)
    assert generate(model, states(3), torch.zeros(3, dtype=torch.int64), [0, 1, 2], NULL, heun).nfe == 6


def test_rows_that_do_not_match_are_refused(model):
    with pytest.raises(ValueError, match="3 prompts, 2 breeds and 3 seeds"):
        generate(model, states(3), torch.zeros(2, dtype=torch.int64), [0, 1, 2], NULL, SamplingOptions())


def test_pixels_survive_the_trip_to_samples_and_back():
    images = torch.arange(256, dtype=torch.uint8).reshape(1, 16, 16, 1).repeat(1, 1, 1, 3)
    samples = pixels_to_samples(images)
    assert samples.min() == -1 and samples.max() == 1 and samples.shape == (1, 3, 16, 16)
    assert torch.equal(samples_to_pixels(samples), images)
    assert samples_to_pixels(torch.full((1, 3, 1, 1), 1.7)).max() == 255


def test_a_model_is_rebuilt_from_its_description(model):
    import json

    again = build_flow_model(json.loads(json.dumps(model.describe())))
    again.load_state_dict(model.state_dict())
    text = states(2)
    args = (torch.ones(2, 3, 16, 16), torch.tensor([0.2, 0.8]), text.hidden, text.mask, torch.tensor([0, 1]))
    with torch.no_grad():
        assert torch.equal(again.eval()(*args), model(*args))


def test_a_text_encoder_of_another_width_is_refused():
    with pytest.raises(ValueError, match="width 24"):
        FlowModel(FlowUNet(CONFIG), UpperText({**TEXT, "width": 32}))
