"""Which device and which arithmetic a scoring model uses."""

from contextlib import AbstractContextManager, nullcontext

import torch

DEVICES = ("auto", "cpu", "cuda", "mps")
DTYPES = ("auto", "fp32", "bf16")


class DeviceError(ValueError):
    """A device or dtype that does not exist here; the message names the option's values."""


def pick_device(option: str = "auto") -> torch.device:
    """The device of an option "auto", "cpu", "cuda" (also "cuda:1") or "mps"; auto prefers a GPU.

    Raises DeviceError when the asked one is not on this machine.
    """
    kind = option.partition(":")[0]
    if kind not in DEVICES:
        raise DeviceError(f"There is no device {option!r}; choose one of {', '.join(DEVICES)}.")
    if option == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    here = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not here[kind]:
        raise DeviceError(f"device={option} is not available on this machine; use device=auto or device=cpu.")
    return torch.device(option)


def native_bf16(device: torch.device) -> bool:
    """Whether bf16 multiplications run in hardware: AMX or AVX512-BF16 on a CPU, Ampere or later on a GPU.

    Emulated bf16 is slower than fp32, so support in software does not count.
    """
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        capabilities = torch.cpu.get_capabilities()
        return bool(capabilities.get("amx_bf16") or capabilities.get("avx512_bf16"))
    return False


def pick_dtype(option: str, device: torch.device) -> torch.dtype:
    """The dtype of an option "auto", "fp32" or "bf16"; auto is bf16 where the hardware has it."""
    if option not in DTYPES:
        raise DeviceError(f"There is no dtype {option!r}; choose one of {', '.join(DTYPES)}.")
    if option == "bf16" or (option == "auto" and native_bf16(device)):
        return torch.bfloat16
    return torch.float32


def dtype_name(dtype: torch.dtype) -> str:
    """ "fp32" or "bf16", as it stands in a score policy."""
    return {torch.float32: "fp32", torch.bfloat16: "bf16"}[dtype]


def precision(device: torch.device, dtype: torch.dtype) -> AbstractContextManager[object]:
    """A context in which matrix products run in `dtype` while weights, norms and softmax stay in fp32."""
    if dtype is torch.float32:
        return nullcontext()
    return torch.autocast(device.type, dtype=dtype)
