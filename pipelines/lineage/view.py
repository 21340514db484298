"""Traces as text in the terminal. Names and captions of others are shown as they are, never as markup."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from pipelines.lineage.graph import Node
from pipelines.lineage.photo import DatasetRow, PhotoTrace, Verdict
from pipelines.lineage.trace import ArtifactTrace, RawFile

POLICY_SHOWN = 300
SIGNS = {"at_least": ">=", "at_most": "<="}


def show_trace(traced: ArtifactTrace | PhotoTrace, files: Sequence[RawFile] = ()) -> None:
    """Print a trace, and the raw files behind an artifact if there are any to list."""
    console = Console(highlight=False)
    if isinstance(traced, PhotoTrace):
        _show_photo(console, traced)
    else:
        _show_artifact(console, traced)
    for file in files:
        roles = f"  ({', '.join(file.roles)})" if file.roles else ""
        _say(console, f"  {file.image_id}  {file.source_uri}{roles}")
    for problem in traced.problems:
        _say(console, f"warning: {problem}")


def _say(console: Console, text: str) -> None:
    # Control characters could move the cursor or recolour the terminal.
    shown = "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
    console.print(Text(shown), soft_wrap=True)


def _show_artifact(console: Console, traced: ArtifactTrace) -> None:
    node = traced.node
    _say(console, f"{node.kind} {node.id}: {node.label}")
    for uri in node.uris:
        _say(console, f"  at       {uri}")
    for name, uri in node.files.items():
        _say(console, f"  file     {name}: {uri}")
    if node.made_by:
        again = f", found made by {len(node.made_by) - 1} more" if len(node.made_by) > 1 else ""
        _say(console, f"  made by  run {node.made_by[0]}{again}")
    if node.code_version:
        _say(console, f"  code     {node.code_version}")
    _say_values(console, "options", node.options)
    _say_values(console, "counters", node.counters)
    _show_nodes(console, "comes from", traced.ancestors)
    _show_nodes(console, "went into", traced.descendants)


def _say_values(console: Console, title: str, values: object) -> None:
    if isinstance(values, dict) and values:
        _say(console, f"  {title:8} " + ", ".join(f"{name}={value}" for name, value in values.items()))


def _show_nodes(console: Console, title: str, nodes: Sequence[Node]) -> None:
    if not nodes:
        return
    _say(console, f"{title}:")
    width = max(len(node.label) for node in nodes)
    for node in nodes:
        where = next(iter(node.uris), "") if node.found else "gone"
        code = f"code {node.code_version}  " if node.code_version else ""
        _say(console, f"  {node.label:{width}}  {node.id}  {code}{where}")


def _show_photo(console: Console, traced: PhotoTrace) -> None:
    _say(console, f"photo {traced.image_id}")
    shown: set[tuple[str, int]] = set()
    for row in traced.rows:
        console.print()
        _show_row(console, row, shown)
    console.print()
    for training in traced.trainings:
        drawn = f"drew it {training.times} times" if training.times else f"never drew it: {training.why}"
        _say(console, f"stage {training.stage} ({training.stage_name}) {training.model_id} {drawn}")
        if training.times:
            _say(console, f"  with the text: {training.text}")
    if not traced.trainings:
        _say(console, "No model was trained on a dataset that holds it.")
    if traced.later:
        _say(console, f"Made from these models: {', '.join(traced.later)}")


def _show_row(console: Console, row: DatasetRow, shown: set[tuple[str, int]]) -> None:
    """`shown`: groups that stand above already, as datasets share most of theirs."""
    verdict = "" if row.keep is None else ", kept" if row.keep else f", rejected: {', '.join(row.reasons)}"
    tier = "" if row.tier is None else f", tier {row.tier}"
    split = "" if row.split is None else f", {row.split} split"
    _say(console, f"{row.step} of {row.name} {row.dataset_id}, row {row.row}{verdict}{tier}{split}")
    for title, value in (
        ("file", row.source_uri),
        ("under", " or ".join(row.roots) if row.source_uri and row.roots else None),
        ("caption", row.caption),
        ("prompt", row.prompt),
        ("duplicate of", row.duplicate_of),
    ):
        if value is not None:
            _say(console, f"  {title}: {value}")
    for group in row.groups:
        if (group.file, group.file_row) in shown:
            continue
        shown.add((group.file, group.file_row))
        scores = ", ".join(
            f"{name}={_short(value)}" for name, value in group.values.items() if value is not None
        )
        _say(console, f"  {group.name} {group.group_id} (code {group.code_version or 'unknown'}): {scores}")
        for name, value in group.policy.items():
            _say(console, f"    {name}: {_cut(value)}")
        _say(console, f"    in {group.file}, row {group.file_row}")
    for item in row.verdicts:
        _say(console, f"  {_verdict(item)}")


def _cut(value: object) -> str:
    """A policy may list hundreds of phrases; --json has them all."""
    text = str(value)
    return text if len(text) <= POLICY_SHOWN else f"{text[:POLICY_SHOWN]}..."


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _verdict(item: Verdict) -> str:
    said = "fails " if item.failed else "passes"
    if not item.column:
        return f"{said} {item.rule}"
    if not item.active:
        return f"       {item.rule} is off (value {_short(item.value)})"
    limit = f"{SIGNS[item.side]} {_short(item.threshold)}"
    return f"{said} {item.rule}: {item.column} {_short(item.value)} {limit}"
