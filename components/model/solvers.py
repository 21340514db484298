"""ODE solvers for dx/dt = v(x, t), from noise (t = 0) to data (t = 1). Cost is reported as NFE, not steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor

Field = Callable[[Tensor, Tensor], Tensor]
"""v(x (B, ...), t scalar tensor) -> (B, ...)."""

Step = Callable[[Field, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Solution:
    """x at the last time, and how often the field was evaluated (NFE) to get there."""

    x: Tensor
    nfe: int


def euler_step(field: Field, x: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
    """x + h v(x, t): order 1, one evaluation."""
    return x + (t_next - t) * field(x, t)


def heun_step(field: Field, x: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
    """Euler's guess, then the mean of both slopes: order 2, two evaluations.

    x' = x + h/2 (v(x, t) + v(x + h v(x, t), t + h))
    """
    step = t_next - t
    slope = field(x, t)
    slope_next = field(x + step * slope, t_next)
    return x + step * (slope + slope_next) / 2


def midpoint_step(field: Field, x: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
    """x + h v(x + h/2 v(x, t), t + h/2): order 2, two evaluations."""
    step = t_next - t
    return x + step * field(x + step / 2 * field(x, t), t + step / 2)


def rk4_step(field: Field, x: Tensor, t: Tensor, t_next: Tensor) -> Tensor:
    """The classical Runge-Kutta step: order 4, four evaluations."""
    step = t_next - t
    first = field(x, t)
    second = field(x + step / 2 * first, t + step / 2)
    third = field(x + step / 2 * second, t + step / 2)
    fourth = field(x + step * third, t_next)
    return x + step / 6 * (first + 2 * second + 2 * third + fourth)


STEPS: dict[str, Step] = {
    "euler": euler_step,
    "heun": heun_step,
    "midpoint": midpoint_step,
    "rk4": rk4_step,
}
ADAPTIVE = "dopri5"
SOLVERS = (*STEPS, ADAPTIVE)


def solve(field: Field, x: Tensor, times: Tensor, solver: str = "euler", tolerance: float = 1e-5) -> Solution:
    """Follow `field` from x at times[0] to times[-1]. times: (N + 1,), e.g. `timesteps.sampling_times`.

    The times are cast to x's dtype once, so x keeps its dtype. "dopri5" (Dormand-Prince 5(4), by torchdiffeq)
    chooses its own steps between the first and the last time, so that its error stays within `tolerance`,
    relative and absolute; they are the same for all rows of x, so a row depends a little on its batch.
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver {solver!r} is unknown; use one of: {', '.join(SOLVERS)}")
    nfe = 0

    def counted(at: Tensor, t: Tensor) -> Tensor:
        nonlocal nfe
        nfe += 1
        return field(at, t)

    times = times.to(device=x.device, dtype=x.dtype)
    if solver == ADAPTIVE:
        return Solution(_adaptive(counted, x, times[[0, -1]], tolerance), nfe)
    for t, t_next in pairwise(times):
        x = STEPS[solver](counted, x, t, t_next)
    return Solution(x, nfe)


def _adaptive(field: Field, x: Tensor, ends: Tensor, tolerance: float) -> Tensor:
    from torchdiffeq import odeint

    path = odeint(lambda t, at: field(at, t), x, ends, rtol=tolerance, atol=tolerance, method=ADAPTIVE)
    return path[-1]
