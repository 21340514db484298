import torch

from components.model.channel_attention import ChannelAttention


def test_an_untouched_one_is_the_identity_to_the_bit():
    x = torch.randn(2, 32, 3, 3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(ChannelAttention(32)(x), x)


def test_each_channel_is_scaled_by_what_the_means_say():
    attention = ChannelAttention(4)
    with torch.no_grad():
        attention.gate[2].bias.copy_(torch.tensor([0.0, 100.0, -100.0, torch.log(torch.tensor(3.0))]))
    x = torch.randn(2, 4, 3, 3, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(attention(x), x * torch.tensor([1, 2, 0, 1.5])[:, None, None])
