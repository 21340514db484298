"""What stands out in a selection, in sentences: the part of a report that gets read first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.report.reasons import RuleCount
from components.report.scores import Score
from components.report.shares import Share
from components.report.wording import number, percent

# A proposal is worth a sentence when it moves at least this share of the scored rows.
_MOVED_SHARE = 0.1
_MOST_MOVABLE = 3


@dataclass(frozen=True)
class Insight:
    """One sentence; `anchor` is the section that shows it; `warns` where something may be wrong."""

    text: str
    anchor: str
    warns: bool = False


def insights(
    total: int,
    errors: int,
    counts: Sequence[RuleCount],
    scored: Sequence[Score],
    groups: Mapping[str, Sequence[Share]],
) -> list[Insight]:
    """Sentences about errors, the strictest rules, groups that lose out, and thresholds worth a look."""
    found = []
    if errors:
        found.append(Insight(f"{number(errors)} {_files(errors)} could not be read.", "errors", True))
    found += _strictest(total, counts)
    for name, shares in groups.items():
        found += _disfavoured(name, shares)
    movable = sorted((item for score in scored for item in _movable(score)), key=lambda item: -item[0])
    return found + [insight for _, insight in movable[:_MOST_MOVABLE]]


def _files(count: int) -> str:
    return "file" if count == 1 else "files"


def _strictest(total: int, counts: Sequence[RuleCount]) -> list[Insight]:
    most = max(counts, key=lambda count: count.fails, default=None)
    if most is None or not most.fails:
        return []
    text = (
        f"{most.rule.name} rejects the most: {number(most.fails)} rows ({percent(most.fails / total)}), "
        f"{number(most.alone)} of them for no other reason."
    )
    found = [Insight(text, "rules")]
    alone = max(counts, key=lambda count: count.alone)
    if alone.rule.name != most.rule.name and alone.alone:
        text = f"{alone.rule.name} costs the most by itself: {number(alone.alone)} rows fail nothing else."
        found.append(Insight(text, "rules"))
    return found


def _disfavoured(name: str, shares: Sequence[Share]) -> list[Insight]:
    below = [share for share in shares if share.off == "below" and share.name]
    if not below:
        return []
    overall = sum(share.kept for share in shares) / sum(share.total for share in shares)
    worst = below[0]
    text = (
        f"{name} {worst.name} keeps {percent(worst.share)} of {number(worst.total)} rows, "
        f"against {percent(overall)} overall"
    )
    others = len(below) - 1
    text += f"; {others} more of {len(shares)} lie below too." if others else "."
    return [Insight(text, f"groups-{name}", True)]


def _movable(score: Score) -> list[tuple[float, Insight]]:
    """(share of the scored rows that the proposal moves, sentence) of each bound worth one."""
    found = []
    for bound in score.bounds:
        proposal = bound.proposal
        moved = abs(proposal.passes - proposal.now) if proposal and bound.threshold.active else 0.0
        if proposal and moved >= _MOVED_SHARE and proposal.passes < 1:
            text = (
                f"{bound.rule.name}: the proposed {number(proposal.value)} would pass "
                f"{percent(proposal.passes)} of the scored rows, not {percent(proposal.now)}."
            )
            found.append((moved, Insight(text, f"score-{score.column}")))
    return found
