import pytest
import torch

from components.model.flow_model import FlowModel
from components.model.network import BREED_MODULES, NetworkConfig
from components.model.text import UpperText
from components.model.unet import FlowUNet
from components.training.optimizer import learning_rate, parameter_groups, set_learning_rate
from components.training.stages import stage

CONFIG = NetworkConfig(
    size_px=8,
    patch=1,
    widths=(8, 16),
    attention=(False, True),
    heads=2,
    text_width=16,
    num_breeds=2,
    breed_modules=BREED_MODULES,
)
TEXT = {"context_length": 8, "vocab_size": 16, "width": 16, "heads": 2, "layers": 2}


def model():
    return FlowModel(FlowUNet(CONFIG), UpperText(TEXT))


def rates(net, number):
    """Learning rate of each named parameter at a base rate of 1."""
    optimizer = torch.optim.AdamW(parameter_groups(net, stage(number), 0.01))
    set_learning_rate(optimizer, 1.0)
    by_id = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    return {name: by_id.get(id(p), 0.0) for name, p in net.named_parameters()}


def test_stage_0_freezes_the_text_and_the_breeds():
    net = model()
    found = rates(net, 0)
    frozen = {name for name, rate in found.items() if rate == 0}
    breeds = {"network.breed_embedding.weight", "network.breed_time.weight", "network.breed_conv_in.weight"}
    gates = {name for name in found if ".processor.project." in name}
    assert frozen == {name for name in found if name.startswith("text.")} | breeds | gates and gates
    assert {name for name, p in net.named_parameters() if not p.requires_grad} == frozen


@pytest.mark.parametrize("number", [1, 2])
def test_later_stages_train_the_upper_text_layers_at_a_third_of_the_rate(number):
    found = rates(model(), number)
    assert {rate for name, rate in found.items() if name.startswith("text.")} == {0.3}
    assert {rate for name, rate in found.items() if not name.startswith("text.")} == {1.0}


def test_every_parameter_is_in_one_group_and_only_kernels_decay():
    net = model()
    groups = parameter_groups(net, stage(2), 0.05)
    members = [id(p) for group in groups for p in group["params"]]
    assert sorted(members) == sorted(id(p) for p in net.parameters())
    decayed = {id(p) for group in groups if group["weight_decay"] for p in group["params"]}
    for name, p in net.named_parameters():
        assert (id(p) in decayed) == (p.dim() > 1 and "embedding.weight" not in name), name


def test_warmup_reaches_the_full_rate_at_its_last_step_and_decays_to_the_final_share():
    found = [learning_rate(step, 2.0, 10, 30, 0.1) for step in (1, 5, 10, 11, 20, 30, 40)]
    assert found == pytest.approx([0.2, 1.0, 2.0, 1.91, 1.1, 0.2, 0.2])
    assert learning_rate(1, 2.0, 0, 30, 1.0) == learning_rate(30, 2.0, 0, 30, 1.0) == 2.0
