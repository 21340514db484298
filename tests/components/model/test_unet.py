from dataclasses import replace

import torch

from components.model.network import NetworkConfig
from components.model.unet import FlowUNet

SMALL = NetworkConfig(
    preset="test",
    size_px=16,
    patch=1,
    widths=(16, 32),
    attention=(False, True),
    text_width=24,
    num_breeds=5,
    breed_width=12,
)


def built(config):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return FlowUNet(config).eval()


def inputs(side=16):
    g = torch.Generator().manual_seed(1)
    x = torch.randn(2, 3, side, side, generator=g)
    return (
        x,
        torch.rand(2, generator=g),
        torch.randn(2, 6, 24, generator=g),
        torch.ones(2, 6, dtype=torch.bool),
    )


@torch.no_grad()
def test_real_tokens_and_time_do_change_the_output():
    net, breed = built(SMALL), torch.tensor([0, 4])
    x, t, text, mask = inputs()
    base = net(x, t, text, mask, breed)
    assert not torch.allclose(base, net(x, t, text + 1.0, mask, breed), atol=1e-4)
    assert not torch.allclose(base, net(x, 1 - t, text, mask, breed), atol=1e-4)


@torch.no_grad()
def test_patches_are_the_plain_network_on_folded_pictures():
    net, breed = built(replace(SMALL, patch=2)), torch.tensor([0, 4])
    x, t, text, mask = inputs()
    folded = x.view(2, 3, 8, 2, 8, 2).permute(0, 1, 3, 5, 2, 4).reshape(2, 12, 8, 8)
    v = net.backbone(folded, 1000 * (1 - t), encoder_hidden_states=text, encoder_attention_mask=mask).sample
    unfolded = v.view(2, 3, 2, 2, 8, 8).permute(0, 1, 4, 2, 5, 3).reshape(2, 3, 16, 16)
    assert torch.allclose(net(x, t, text, mask, breed), unfolded, atol=1e-6)


@torch.no_grad()
def test_channel_attention_starts_as_nothing_and_then_acts_on_the_middle():
    plain, gated = built(SMALL), built(replace(SMALL, channel_attention=True, projection=4))
    gated.load_state_dict(plain.state_dict(), strict=False)
    x, t, text, mask = inputs()
    breed = torch.tensor([0, 4])
    base = plain(x, t, text, mask, breed)
    assert torch.equal(base, gated(x, t, text, mask, breed))
    features = gated.with_features(x, t, text, mask, breed)[1]
    gated.channel_attention.gate[2].bias.fill_(2.0)
    assert not torch.allclose(base, gated(x, t, text, mask, breed), atol=1e-3)
    # The projection sees what the decoder sees.
    assert not torch.allclose(features, gated.with_features(x, t, text, mask, breed)[1], atol=1e-3)


@torch.no_grad()
def test_it_takes_pictures_of_other_shapes():
    net, breed = built(SMALL), torch.tensor([0, 4])
    x, t, text, mask = inputs(side=16)
    assert net(x[..., :8], t, text, mask, breed).shape == (2, 3, 16, 8)
