import pytest
import torch
from torch import nn

from components.model.ema import Ema


def filled(value, dtype=torch.float32):
    model = nn.Linear(2, 1, bias=False, dtype=dtype)
    nn.init.constant_(model.weight, value)
    return model


def test_shadow_follows_the_recurrence_with_the_documented_warmup():
    model = filled(0.0)
    ema = Ema(model, 0.9)
    expected, decays = 0.0, []
    for n in range(1, 101):
        nn.init.constant_(model.weight, float(n))
        ema.update(model)
        decay = min(0.9, (1 + n) / (10 + n))
        decays.append(decay)
        expected = decay * expected + (1 - decay) * n
    assert ema.shadow["weight"][0, 0].item() == pytest.approx(expected, rel=1e-5)
    assert decays[0] == 2 / 11 and decays[-1] == 0.9


def test_average_of_a_bfloat16_model_moves_where_bfloat16_itself_could_not():
    model = filled(1.0, torch.bfloat16)
    ema = Ema(model, 0.9999)
    ema.updates = 10**6  # past the warm-up
    nn.init.constant_(model.weight, 2.0)
    for _ in range(100):
        ema.update(model)
    assert ema.shadow["weight"].dtype == torch.float32
    assert ema.shadow["weight"][0, 0].item() == pytest.approx(1 + (1 - 0.9999**100), rel=1e-4)
    stuck = torch.tensor(1.0, dtype=torch.bfloat16)
    assert stuck * 0.9999 + 2.0 * (1 - 0.9999) == 1.0


def test_raw_weights_return_bit_for_bit_after_the_average_was_applied():
    model = nn.Linear(3, 3).to(torch.bfloat16)
    ema = Ema(model)
    nn.init.constant_(model.weight, 0.3)
    raw = {k: v.clone() for k, v in model.state_dict().items()}
    with pytest.raises(RuntimeError, match="sampling"), ema.applied(model):
        assert not torch.equal(model.weight, raw["weight"])
        raise RuntimeError("sampling failed")
    assert all(torch.equal(model.state_dict()[k], raw[k]) for k in raw)


def test_state_survives_a_round_trip_and_refuses_another_model():
    model = filled(1.0)
    ema = Ema(model, 0.99)
    nn.init.constant_(model.weight, 3.0)
    ema.update(model)
    other = Ema(filled(0.0), 0.99)
    other.load_state_dict(ema.state_dict())
    ema.update(model)
    other.update(model)
    assert torch.equal(ema.shadow["weight"], other.shadow["weight"]) and other.updates == 2
    with pytest.raises(ValueError, match="another model"):
        Ema(nn.Linear(2, 2)).load_state_dict(ema.state_dict())


def test_impossible_decay_is_refused():
    with pytest.raises(ValueError, match=r"\[0, 1\)"):
        Ema(filled(1.0), 1.0)
