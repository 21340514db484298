import pytest
import torch

from components.model.guidance import Condition, guided_field, join

NULL = Condition(torch.zeros(1, 2, 4), torch.ones(1, 2, dtype=torch.bool), torch.tensor([9]))


def condition(rows, length=3):
    g = torch.Generator().manual_seed(0)
    text = torch.randn(rows, length, 4, generator=g)
    return Condition(text, torch.ones(rows, length, dtype=torch.bool), torch.arange(rows))


class Network:
    """v = x + t + mean of real text + breed, and a record of the batches it saw."""

    def __init__(self):
        self.batches = []

    def __call__(self, x, t, text, mask, breed):
        self.batches.append(len(x))
        pooled = (text * mask[..., None]).sum((1, 2)) / mask.sum(1)
        return x + (t + pooled + breed)[:, None, None, None]


def test_guidance_extrapolates_from_the_null_velocity():
    net, cond = Network(), condition(3)
    x, t = torch.ones(3, 1, 2, 2), torch.tensor(0.25)
    null = NULL.expand(3)
    v_null = net(x, t.expand(3), null.text, null.mask, null.breed)
    v_cond = net(x, t.expand(3), cond.text, cond.mask, cond.breed)
    found = guided_field(net, cond, NULL, 3.0)(x, t)
    assert torch.allclose(found, v_null + 3.0 * (v_cond - v_null), atol=1e-6)


@pytest.mark.parametrize(("weight", "name"), [(1.0, "conditional"), (0.0, "null")])
def test_weights_one_and_zero_are_the_plain_velocities_at_half_the_cost(weight, name):
    net, cond = Network(), condition(3)
    x, t = torch.ones(3, 1, 2, 2), torch.tensor(0.5)
    found = guided_field(net, cond, NULL, weight)(x, t)
    expected = cond if name == "conditional" else NULL.expand(3)
    assert torch.equal(found, net(x, t.expand(3), expected.text, expected.mask, expected.breed))
    assert net.batches[0] == 3


def test_both_halves_run_in_one_forward():
    net = Network()
    guided_field(net, condition(3), NULL, 2.0)(torch.ones(3, 1, 2, 2), torch.tensor(0.5))
    assert net.batches == [6]


@pytest.mark.parametrize(
    ("time", "guided"), [(0.29, False), (0.3, True), (0.5, True), (0.8, True), (0.81, False)]
)
def test_guidance_acts_within_its_interval_and_costs_half_outside(time, guided):
    net, cond = Network(), condition(3)
    x, t = torch.ones(3, 1, 2, 2), torch.tensor(time, dtype=torch.float64)
    found = guided_field(net, cond, NULL, 3.0, interval=(0.3, 0.8))(x, t)
    assert net.batches == [6 if guided else 3]
    assert torch.equal(found, guided_field(net, cond, NULL, 3.0 if guided else 1.0)(x, t))


def test_a_null_row_for_each_sample_equals_one_shared_null_row():
    net, cond = Network(), condition(2)
    x, t = torch.ones(2, 1, 2, 2), torch.tensor(0.5)
    assert torch.equal(
        guided_field(net, cond, NULL, 2.0)(x, t), guided_field(net, cond, NULL.expand(2), 2.0)(x, t)
    )


def test_joining_pads_the_shorter_text_and_masks_the_padding():
    both = join(NULL, condition(2, length=5))
    assert both.text.shape == (3, 5, 4) and both.mask.sum(1).tolist() == [2, 5, 5]
    assert both.breed.tolist() == [9, 0, 1]
