"""Devices and dtypes: what is asked for, what is here, and what autocast leaves alone."""

import pytest
import torch

from components.model import device as module
from components.model.device import DeviceError, native_bf16, pick_device, pick_dtype, precision

CPU = torch.device("cpu")


def test_auto_takes_bf16_only_where_the_hardware_has_it(monkeypatch):
    for capabilities, expected in [
        ({"amx_bf16": True}, torch.bfloat16),
        ({"avx512_bf16": True}, torch.bfloat16),
        ({"avx512_f": True}, torch.float32),
    ]:
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda found=capabilities: found)
        assert pick_dtype("auto", CPU) is expected
        assert native_bf16(CPU) == (expected is torch.bfloat16)
        assert pick_dtype("fp32", CPU) is torch.float32
        assert pick_dtype("bf16", CPU) is torch.bfloat16
    assert not native_bf16(torch.device("mps"))


def test_a_device_that_is_not_here_or_does_not_exist_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert pick_device("auto") == CPU
    with pytest.raises(DeviceError, match=r"device=cuda:1 is not available.*device=cpu"):
        pick_device("cuda:1")
    with pytest.raises(DeviceError, match="no device 'tpu'"):
        pick_device("tpu")
    with pytest.raises(DeviceError, match="no dtype 'fp16'"):
        pick_dtype("fp16", CPU)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert pick_device("auto").type == "cuda"


def test_matrix_products_round_to_bf16_and_the_weights_do_not_change():
    layer = torch.nn.Linear(64, 64)
    x = torch.rand(8, 64, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        with precision(CPU, torch.float32):
            exact = layer(x)
        with precision(CPU, torch.bfloat16):
            rounded = layer(x)
    assert (exact.dtype, rounded.dtype) == (torch.float32, torch.bfloat16)
    assert layer.weight.dtype is torch.float32
    assert 0 < (rounded.float() - exact).abs().max() < 0.02
    assert {module.dtype_name(exact.dtype), module.dtype_name(rounded.dtype)} == {"fp32", "bf16"}
