"""The three training stages: rows of one table over one loop."""

from __future__ import annotations

from dataclasses import dataclass, replace

ANY_TIER = (-1, 0, 1)


@dataclass(frozen=True)
class Phase:
    """From `epoch` on (0 = the first), rows of these tiers take part."""

    epoch: int
    tiers: tuple[int, ...]


@dataclass(frozen=True)
class Stage:
    """What a stage trains, and on what.

    text: the column whose states condition the image, "caption" or "prompt". text_lr_scale: learning rate of
    the upper text layers as a share of the network's; 0 freezes them. breeds: whether rows carry their breed
    (otherwise all are the null breed and the breed embedding gets no gradient). phases: the curriculum.
    """

    number: int
    name: str
    text: str
    text_lr_scale: float
    breeds: bool
    phases: tuple[Phase, ...] = (Phase(0, ANY_TIER),)

    def tiers_at(self, epoch: int) -> tuple[int, ...]:
        """Tiers that take part in an epoch: those of the last phase that has begun."""
        return [phase for phase in self.phases if phase.epoch <= epoch][-1].tiers


STAGES: tuple[Stage, ...] = (
    Stage(0, "general", text="caption", text_lr_scale=0.0, breeds=False),
    Stage(1, "breed", text="prompt", text_lr_scale=0.3, breeds=True),
    Stage(
        2,
        "curriculum",
        text="prompt",
        text_lr_scale=0.3,
        breeds=True,
        # Reviewed pictures alone for three epochs, then the confidently recognised ones join.
        phases=(Phase(0, (0,)), Phase(3, (0, 1))),
    ),
)


def stage(number: int, curriculum: bool = True) -> Stage:
    """A row of the table, or that row with all its tiers from the first epoch on.

    Raises ValueError that lists the rows.
    """
    if not 0 <= number < len(STAGES):
        names = ", ".join(f"{row.number} ({row.name})" for row in STAGES)
        raise ValueError(f"training stage {number} is unknown; use one of: {names}")
    row = STAGES[number]
    if curriculum:
        return row
    every = tuple(sorted({tier for phase in row.phases for tier in phase.tiers}))
    return replace(row, phases=(Phase(0, every),))
