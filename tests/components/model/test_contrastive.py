import math

import pytest
import torch

from components.model.contrastive import Projection, contrastive_loss

ROWS = torch.tensor(
    [[1, 0, 0], [0.8, 0.6, 0], [0, 1, 0], [0, 0.6, 0.8], [0, 0, 1], [0.6, 0, 0.8]], dtype=torch.float64
)
LABELS = torch.tensor([0, 0, 1, 1, 2, 2])


@pytest.mark.parametrize(("temperature", "loss"), [(0.07, 0.7787996227), (0.1, 0.7186755576)])
def test_known_values(temperature, loss):
    assert contrastive_loss(ROWS, LABELS, temperature).item() == pytest.approx(loss, abs=1e-9)


def test_rows_that_are_all_the_same_give_the_log_of_the_others():
    assert contrastive_loss(torch.ones(6, 1), LABELS).item() == pytest.approx(math.log(5), abs=1e-6)


def test_an_anchor_without_a_positive_is_left_out_of_the_mean_but_pushes_the_others_away():
    more = torch.cat([ROWS, torch.tensor([[0.0, 0.8, 0.6]], dtype=torch.float64)])
    labels = torch.cat([LABELS, torch.tensor([9])])
    similarity = more @ more.T / 0.1
    by_hand = []
    for anchor in range(6):
        others = [j for j in range(7) if j != anchor]
        positive = next(j for j in others if labels[j] == labels[anchor])
        by_hand.append(torch.logsumexp(similarity[anchor, others], 0) - similarity[anchor, positive])
    assert contrastive_loss(more, labels).item() == pytest.approx(
        torch.stack(by_hand).mean().item(), abs=1e-9
    )


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_without_positives_it_is_zero_and_so_are_its_gradients(rows):
    features = torch.randn(rows, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    loss = contrastive_loss(features, torch.arange(rows))
    loss.backward()
    assert loss.item() == 0 and (features.grad is None or not features.grad.any())


def test_a_single_row_beside_a_pair_gives_finite_gradients():
    features = ROWS[:3].clone().requires_grad_()
    contrastive_loss(features, torch.tensor([0, 0, 5]), 0.01).backward()
    assert torch.isfinite(features.grad).all()


def test_projections_are_unit_vectors_in_float32():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        projection = Projection(8, 5).to(torch.bfloat16)
    found = projection(
        1000 * torch.randn(7, 8, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    )
    assert found.dtype == torch.float32
    assert torch.allclose(found.norm(dim=1), torch.ones(7), atol=1e-6)
