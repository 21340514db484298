"""Arithmetic per picture, and what is made of it."""

import torch
from torch import nn

from components.training.throughput import BACKWARD_COST, Usage, peak_memory_bytes, training_flops

TOKENS = 5


def layers_flops(model) -> int:
    """By hand: 2 x inputs of an output x outputs, of all convolutions and linear layers on one picture."""
    total = 0

    def count(module, inputs, output):
        nonlocal total
        if isinstance(module, nn.Conv2d):
            per_output = module.in_channels // module.groups * module.kernel_size[0] * module.kernel_size[1]
        else:
            per_output = module.in_features
        total += 2 * per_output * output.numel()

    hooks = [m.register_forward_hook(count) for m in model.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    with torch.no_grad():
        mask = torch.ones(1, TOKENS, dtype=torch.bool)
        zero = torch.zeros(1, dtype=torch.int64)
        model(torch.zeros(1, *model.sample_shape), torch.ones(1), torch.zeros(1, TOKENS, 16), mask, zero)
    for hook in hooks:
        hook.remove()
    return total


def test_flops_are_three_forwards_of_the_layers_and_some_attention(model):
    forward, rest = divmod(training_flops(model, TOKENS), BACKWARD_COST)
    assert rest == 0
    layers = layers_flops(model)
    # The products of attention, and its projections in the text layers, are in no Linear module.
    assert layers < forward < 1.5 * layers


def test_flops_grow_with_the_text(model):
    assert training_flops(model, 2 * TOKENS) > training_flops(model, TOKENS)


def test_mfu_is_achieved_over_peak(model):
    usage = Usage(model, torch.float32, TOKENS)
    assert usage.peak_flops > 0 and usage.flops_per_image == training_flops(model, TOKENS)
    fastest = usage.peak_flops / usage.flops_per_image  # pictures a second at the peak
    assert usage.logged(fastest / 4)["mfu"] == 0.25


def test_memory_holds_what_the_process_took():
    before = peak_memory_bytes(torch.device("cpu"))
    block = torch.ones(60_000_000)  # 240 MB
    assert peak_memory_bytes(torch.device("cpu")) >= max(before, block.nbytes)
