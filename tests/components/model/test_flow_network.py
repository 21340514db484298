"""What the U-Net and the transformer have in common, held against the plain diffusers models."""

import copy
import pickle
import threading
from dataclasses import replace

import pytest
import torch
from diffusers import PixArtTransformer2DModel, UNet2DConditionModel

from components.model.flow_model import build_network
from components.model.flow_network import WeightsMismatch
from components.model.network import BREED_MODULES, NetworkConfig

UNET = NetworkConfig(
    preset="test",
    size_px=16,
    patch=1,
    widths=(16, 32),
    attention=(True, False),
    text_width=24,
    num_breeds=5,
    breed_modules=BREED_MODULES,
    breed_width=12,
    projection=6,
)
DIT = NetworkConfig(
    preset="test",
    kind="dit",
    size_px=16,
    patch=2,
    widths=(32,),
    attention=(True,),
    layers=2,
    heads=4,
    text_width=24,
    num_breeds=5,
    breed_modules=BREED_MODULES,
    breed_width=12,
    projection=6,
)


def built(config, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build_network(config).eval()


@pytest.fixture(params=[UNET, DIT], ids=["unet", "dit"])
def net(request):
    return built(request.param)


def trained(network):
    """The network with breed modules that say something."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(7)
        for parameter in network.breed_parameters():
            parameter.normal_(std=0.3)
    return network


def inputs(batch=2, tokens=6):
    g = torch.Generator().manual_seed(1)
    x = torch.randn(batch, 3, 16, 16, generator=g)
    t = torch.rand(batch, generator=g)
    text = torch.randn(batch, tokens, 24, generator=g)
    mask = torch.arange(tokens) < torch.tensor([[tokens], [tokens - 2]])[:batch]
    return x, t, text, mask, torch.tensor([0, 4])[:batch]


@torch.no_grad()
def test_an_untouched_network_is_the_plain_diffusers_model_to_the_bit(net):
    """Whatever the breed: in the layout of Stable Diffusion 1.5, its weights give its output."""
    plain = {"unet": UNet2DConditionModel, "dit": PixArtTransformer2DModel}[net.config.kind]
    reference = plain.from_config(net.backbone.config).eval()
    net.load_published(reference.state_dict())
    x, t, text, mask, breed = inputs()
    expected = reference(
        x, timestep=1000 * (1 - t), encoder_hidden_states=text, encoder_attention_mask=mask.float()
    ).sample
    for breeds in (breed, torch.full((2,), net.null_breed)):
        assert torch.equal(net(x, t, text, mask, breeds), expected)
        assert torch.equal(net.with_features(x, t, text, mask, breeds)[0], expected)


@torch.no_grad()
def test_weights_of_another_layout_are_refused_whole_with_the_tensor_named(net):
    before = copy.deepcopy(net.state_dict())
    weights = {n: v + 1 for n, v in net.backbone.state_dict().items() if ".processor." not in n}
    name = sorted(weights)[-1]
    for changed in (
        {**weights, name: torch.zeros(3)},
        {n: v for n, v in weights.items() if n != name},
        {**weights, "zz.weight": torch.zeros(1)},
    ):
        with pytest.raises(WeightsMismatch, match=f"{'zz.weight' if 'zz.weight' in changed else name} is"):
            net.load_published(changed)
    assert all(torch.equal(before[n], v) for n, v in net.state_dict().items())


@pytest.mark.parametrize("module", BREED_MODULES)
@pytest.mark.parametrize("config", [UNET, DIT], ids=["unet", "dit"])
@torch.no_grad()
def test_each_breed_module_by_itself_tells_breeds_apart_once_trained(config, module):
    net = trained(built(replace(config, breed_modules=(module,), projection=0)))
    x, t, text, mask, _ = inputs()
    answers = [net(x, t, text, mask, torch.full((2,), breed)) for breed in (0, 1, net.null_breed)]
    assert not torch.allclose(answers[0], answers[1], atol=1e-3)
    assert not torch.allclose(answers[0], answers[2], atol=1e-3)


@torch.no_grad()
def test_a_row_hears_of_its_own_breed_and_text_only(net):
    trained(net)
    x, t, text, mask, breed = inputs()
    both = net(x, t, text, mask, breed)
    for row in (slice(0, 1), slice(1, 2)):
        alone = net(x[row], t[row], text[row], mask[row], breed[row])
        assert torch.allclose(both[row], alone, atol=1e-5)


@torch.no_grad()
def test_more_padding_gives_the_same_output_and_features(net):
    trained(net)
    x, t, text, mask, breed = inputs()
    junk = 50 * torch.randn(2, 9, 24, generator=torch.Generator().manual_seed(2))
    longer = torch.cat([text, junk], 1)
    longer_mask = torch.cat([mask, torch.zeros(2, 9, dtype=torch.bool)], 1)
    for short, long in zip(
        net.with_features(x, t, text, mask, breed),
        net.with_features(x, t, longer, longer_mask, breed),
        strict=True,
    ):
        assert torch.allclose(short, long, atol=1e-5)


@torch.no_grad()
def test_new_breeds_leave_every_answer_as_it_was_and_start_as_no_breed(net):
    trained(net)
    x, t, text, mask, breed = inputs()
    null = torch.full((2,), net.null_breed)
    known, unknown = net(x, t, text, mask, breed), net(x, t, text, mask, null)
    net.add_breeds(2)
    assert net.null_breed == net.config.num_breeds == 7
    assert torch.equal(net(x, t, text, mask, breed), known)
    for row in (5, 6, 7):
        assert torch.equal(net(x, t, text, mask, torch.full((2,), row)), unknown)
    again = build_network(NetworkConfig.from_dict(net.config.to_dict()))
    again.load_state_dict(net.state_dict())
    assert torch.equal(again.eval()(x, t, text, mask, breed), known)


def test_passes_in_threads_side_by_side_do_not_hear_each_other(net):
    trained(net)
    x, t, text, mask, _ = inputs()
    breeds = [torch.full((2,), breed) for breed in range(5)] * 4
    with torch.no_grad():
        expected = [net.with_features(x, t, text, mask, breed) for breed in breeds]
    found = [None] * len(breeds)
    start = threading.Barrier(len(breeds))

    def run(index):
        start.wait(timeout=60)
        with torch.no_grad():
            found[index] = net.with_features(x, t, text, mask, breeds[index])

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(breeds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    for (v, features), (other_v, other_features) in zip(expected, found, strict=True):
        # torch splits its work otherwise under load; another breed would be a hundred times further off.
        assert torch.allclose(v, other_v, atol=1e-4) and torch.allclose(features, other_features, atol=1e-4)


def test_a_pass_leaves_nothing_behind(net):
    x, t, text, mask, breed = inputs()
    net(x, t, text, mask, breed)
    assert net._call.time is None and net._call.conv_in is None and net._call.features is None


def test_features_are_unit_vectors_whose_gradient_reaches_the_first_layer(net):
    x, t, text, mask, breed = inputs()
    _, features = net.with_features(x, t, text, mask, breed)
    assert features.shape == (2, 6)
    assert torch.allclose(features.norm(dim=1), torch.ones(2), atol=1e-6)
    features[:, 0].sum().backward()
    first = net.backbone.conv_in if net.config.kind == "unet" else net.backbone.pos_embed.proj
    assert first.weight.grad.abs().sum() > 0


@torch.no_grad()
def test_copies_and_pickles_are_networks_of_their_own(net):
    trained(net)
    x, t, text, mask, breed = inputs()
    expected = net.with_features(x, t, text, mask, breed)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        for one, two in zip(other.with_features(x, t, text, mask, breed), expected, strict=True):
            assert torch.equal(one, two)
        next(other.breed_parameters()).zero_()
    assert torch.equal(net(x, t, text, mask, breed), expected[0])


@torch.no_grad()
def test_the_embedding_sees_float32_time_even_in_a_bfloat16_network(net):
    net.to(torch.bfloat16)
    projection = (
        net.backbone.time_proj if net.config.kind == "unet" else net.backbone.adaln_single.emb.time_proj
    )
    seen = []
    projection.register_forward_hook(lambda module, args, output: seen.append(args[0]))
    x, _, text, mask, breed = inputs(batch=1)
    half = torch.bfloat16
    net(x.to(half), torch.tensor([0.25]), text.to(half), mask, breed)
    assert seen[0].dtype == torch.float32 and seen[0].item() == 750.0
    assert torch.tensor(750.0).to(half).item() == 752.0  # what the bug would have been
