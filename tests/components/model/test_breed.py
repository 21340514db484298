import pytest
import torch
from diffusers.models.attention_processor import Attention

from components.model.breed import BreedEmbedding, BreedGate, pooled, with_breeds_added


def drawn(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_pooling_takes_the_mean_of_the_real_tokens_only():
    text = drawn(3, 4, 2)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]], dtype=torch.bool)
    found = pooled(text, mask)
    assert torch.allclose(found[0], text[0].mean(0))
    assert torch.allclose(found[1], text[1, :2].mean(0))
    assert torch.equal(found[2], torch.zeros(2))


def test_the_null_breed_is_the_last_row():
    assert BreedEmbedding(8, 4).null_breed == 8
    assert BreedEmbedding(8, 4).weight.std().item() == pytest.approx(0.02, rel=0.5)


def test_new_breeds_come_before_the_null_breed_and_leave_every_other_row_alone():
    table = drawn(4, 3)
    grown = with_breeds_added(table, 2)
    assert torch.equal(grown[:3], table[:3]) and torch.equal(grown[-1], table[-1])
    assert torch.equal(grown[3:5], table[-1].expand(2, -1))


@pytest.fixture
def attention():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Attention(query_dim=8, cross_attention_dim=6, heads=2, dim_head=4, residual_connection=False)


@torch.no_grad()
def test_a_gate_multiplies_what_the_attention_says_and_starts_at_one(attention):
    x, text, condition = drawn(2, 5, 8), drawn(2, 3, 6, seed=1), drawn(2, 7, seed=2)
    plain = attention(x, encoder_hidden_states=text)
    gate = BreedGate(7, 8)
    attention.set_processor(gate)
    assert torch.equal(attention(x, encoder_hidden_states=text, condition=condition), plain)
    gate.project.weight.copy_(drawn(8, 7, seed=3))
    gate.project.bias.copy_(drawn(8, seed=4))
    factor = 2 / (1 + torch.exp(-(condition @ gate.project.weight.T + gate.project.bias)))
    found = attention(x, encoder_hidden_states=text, condition=condition)
    assert torch.allclose(found, plain * factor[:, None], atol=1e-6)
