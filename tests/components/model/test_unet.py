import json

import pytest
import torch

from components.model.unet import PRESETS, FlowUNet, NetworkConfig, diffusers_timestep, flow_time, preset

SMALL = NetworkConfig(
    preset="test",
    size_px=16,
    patch=1,
    widths=(16, 32),
    attention=(False, True),
    layers=1,
    text_width=24,
    num_breeds=5,
)


@pytest.fixture(scope="module")
def net():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return FlowUNet(SMALL).eval()


def inputs(batch=2, tokens=6):
    g = torch.Generator().manual_seed(1)
    x = torch.randn(batch, 3, 16, 16, generator=g)
    t = torch.rand(batch, generator=g)
    text = torch.randn(batch, tokens, 24, generator=g)
    mask = torch.arange(tokens) < torch.tensor([[tokens], [tokens - 2]])[:batch]
    return x, t, text, mask, torch.tensor([0, 4])[:batch]


def test_demo_preset_has_about_2_5_million_parameters():
    with torch.device("meta"):
        count = sum(p.numel() for p in FlowUNet(preset("demo", text_width=64, num_breeds=8)).parameters())
    assert count == pytest.approx(2.5e6, rel=0.02)


def test_every_preset_survives_json():
    for config in PRESETS.values():
        assert NetworkConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@torch.no_grad()
def test_more_padding_gives_the_same_output(net):
    x, t, text, mask, breed = inputs()
    junk = 50 * torch.randn(2, 9, 24, generator=torch.Generator().manual_seed(2))
    longer = torch.cat([text, junk], 1)
    longer_mask = torch.cat([mask, torch.zeros(2, 9, dtype=torch.bool)], 1)
    short = net(x, t, text, mask, breed)
    assert short.shape == x.shape
    assert torch.allclose(short, net(x, t, longer, longer_mask, breed), atol=1e-5)


@torch.no_grad()
def test_real_tokens_and_time_do_change_the_output(net):
    x, t, text, mask, breed = inputs()
    base = net(x, t, text, mask, breed)
    assert not torch.allclose(base, net(x, t, text + 1.0, mask, breed), atol=1e-4)
    assert not torch.allclose(base, net(x, 1 - t, text, mask, breed), atol=1e-4)


@torch.no_grad()
def test_an_untouched_network_ignores_the_breed_and_a_trained_one_does_not(net):
    x, t, text, mask, breed = inputs()
    null = torch.full((2,), net.null_breed)
    base = net(x, t, text, mask, breed)
    assert torch.equal(base, net(x, t, text, mask, null))
    with torch.random.fork_rng():
        torch.manual_seed(3)
        net.breed_embedding.weight[1].normal_()
    try:
        one = torch.ones(2, dtype=torch.int64)
        assert not torch.allclose(base, net(x, t, text, mask, one), atol=1e-4)
        assert torch.equal(base, net(x, t, text, mask, null))  # other rows stay as they were
    finally:
        net.breed_embedding.weight.zero_()


@torch.no_grad()
def test_the_embedding_sees_float32_time_even_in_a_bfloat16_network():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = FlowUNet(SMALL).to(torch.bfloat16)
    seen = []
    net.unet.time_proj.register_forward_hook(lambda module, args, output: seen.append(args[0]))
    x, _, text, mask, breed = inputs(batch=1)
    half = torch.bfloat16
    net(x.to(half), torch.tensor([0.25]), text.to(half), mask, breed)
    assert seen[0].dtype == torch.float32 and seen[0].item() == 750.0
    assert torch.tensor(750.0).to(half).item() == 752.0  # what the bug would have been


def test_time_conversion_round_trips_and_refuses_half_precision():
    t = torch.linspace(0, 1, 11)
    assert torch.allclose(flow_time(diffusers_timestep(t)), t, atol=1e-6)
    assert diffusers_timestep(torch.tensor([0.0, 1.0])).tolist() == [1000.0, 0.0]
    with pytest.raises(AssertionError, match="float32"):
        diffusers_timestep(t.to(torch.bfloat16))


def test_an_unknown_preset_is_refused_by_name():
    with pytest.raises(ValueError, match="demo"):
        preset("sd9", text_width=64, num_breeds=8)
