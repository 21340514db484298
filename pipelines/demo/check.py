"""How well the pipeline found the planted defects: recall and precision per reason."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Which of two duplicates is kept is the pipeline's choice, so these are judged by pair.
PAIRED = ("duplicate_exact", "duplicate_near")
# Reasons that the expensive steps judge: only rows that were scored can have them.
SCORED_BY = {"clip_similarity": "similarity", "foreground_ratio": "foreground"}


@dataclass(frozen=True)
class Found:
    """Of `planted` rows `recalled` were rejected for the reason; of `rejected` rows `right` were planted."""

    reason: str
    planted: int
    recalled: int
    rejected: int
    right: int

    @property
    def recall(self) -> float:
        """Share of the planted rows that were found; 1 when none was planted."""
        return self.recalled / self.planted if self.planted else 1.0

    @property
    def precision(self) -> float:
        """Share of the rejected rows that were planted; 1 when none was rejected."""
        return self.right / self.rejected if self.rejected else 1.0


def read_truth(path: Path) -> list[dict[str, Any]]:
    """Rows of truth.jsonl."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def found_defects(rows: Sequence[Mapping[str, Any]], truth: Sequence[Mapping[str, Any]]) -> list[Found]:
    """Compare selection's reasons with the truth.

    `rows` have source_uri, reasons and `<step>_skipped_by` where a step ran; `truth` is that of the set.
    """
    reasons = {row["source_uri"]: set(row["reasons"] or ()) for row in rows}
    skipped = {
        step: {row["source_uri"] for row in rows if row.get(f"{step}_skipped_by") is not None}
        for step in SCORED_BY.values()
    }
    planted: dict[str, dict[str, str]] = {}
    for row in truth:
        for defect in row["defects"]:
            if defect["beyond"] and row["file"] in reasons:
                planted.setdefault(defect["reason"], {})[row["file"]] = defect.get("of") or row["file"]
    return [
        _judge(reason, files, reasons, skipped.get(SCORED_BY.get(reason, ""), set()))
        for reason, files in sorted(planted.items())
    ]


def _judge(
    reason: str, files: Mapping[str, str], reasons: Mapping[str, set[str]], skipped: set[str]
) -> Found:
    rejected = {file for file, found in reasons.items() if reason in found}
    wanted = {file: of for file, of in files.items() if file not in skipped}
    if reason in PAIRED:
        either = PAIRED if reason == "duplicate_near" else (reason,)
        hit = [f for f, of in wanted.items() if any(r in reasons[f] | reasons.get(of, set()) for r in either)]
        members = set(wanted) | set(wanted.values())
        return Found(reason, len(wanted), len(hit), len(rejected), len(rejected & members))
    return Found(
        reason, len(wanted), len(rejected & wanted.keys()), len(rejected), len(rejected & wanted.keys())
    )
