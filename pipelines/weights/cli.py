"""`dogflow weights`: list, pull and verify the models that score pictures."""

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="weights",
    help="Model weights: in $DOGFLOW_WEIGHTS or ~/.cache/dogflow/weights. Steps never download.",
    no_args_is_help=True,
    add_completion=False,
)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_Kind = Annotated[str, typer.Option("--kind", help="clip or sam; by default told from the name.")]


@app.command("list")
def list_command(
    everything: Annotated[bool, typer.Option("--all", help="Every entry of open_clip's table.")] = False,
    as_json: _Json = False,
) -> None:
    """List models by reference, and whether they are on this machine."""
    from components.model.published import list_published
    from components.model.weights import cache_folder
    from pipelines.weights.verification import is_here

    rows = [
        {
            "reference": entry.reference,
            "kind": entry.kind,
            "here": is_here(entry.reference, entry.kind),
            "file": entry.files[0].name,
            "sha256": entry.files[0].sha256,
            "origin": entry.files[0].origin,
        }
        for entry in list_published(everything=everything)
    ]
    if as_json:
        typer.echo(json.dumps({"folder": str(cache_folder()), "weights": rows}, indent=2))
        return
    from rich.console import Console

    console = Console()
    console.print(_table(rows))
    console.print(f"Folder: {cache_folder()}. `demo` names the small models that come with dogflow.")


@app.command()
def pull(
    references: Annotated[list[str], typer.Argument(help="Such as ViT-L-14/openai or vit_b.")],
    kind: _Kind = "",
    as_json: _Json = False,
) -> None:
    """Download published weights, check their sha256, and put them where the steps look."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from components.model.download import pull as pull_weights
    from components.model.published import kind_of

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    pulled = []
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        for reference in references:
            task = progress.add_task(reference, total=None)

            def show(done: int, total: int, task: Any = task) -> None:
                progress.update(task, completed=done, total=total or None)

            path = pull_weights(reference, kind or kind_of(reference), show)
            pulled.append({"reference": reference, "file": str(path)})
    if as_json:
        typer.echo(json.dumps(pulled, indent=2))
        return
    for row in pulled:
        typer.echo(f"{row['reference']}: {row['file']}")


@app.command()
def verify(
    references: Annotated[
        list[str] | None, typer.Argument(help="References; by default all published ones that are here.")
    ] = None,
    kind: _Kind = "",
    scores: Annotated[
        bool, typer.Option("--scores", help="Also run each model on drawn pictures and look at its scores.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Compute every sha256 anew. Exit code 1 when a file is absent or not what it is called."""
    from components.model.published import kind_of
    from pipelines.weights.verification import references_here
    from pipelines.weights.verification import verify as verify_weights

    named = [(reference, kind or kind_of(reference)) for reference in references or []]
    verdicts = [verify_weights(reference, kind) for reference, kind in named or references_here()]
    measured = []
    if scores:
        from pipelines.weights.reference_scores import reference_scores

        measured = [reference_scores(v.reference, v.kind) for v in verdicts if v.good]
    good = all(v.good for v in verdicts) and all(s.good for s in measured)
    if as_json:
        shown = {
            "good": good,
            "weights": [asdict(verdict) | {"good": verdict.good} for verdict in verdicts],
            "scores": [asdict(score) | {"good": score.good} for score in measured],
        }
        typer.echo(json.dumps(shown, indent=2))
    else:
        _print_verdicts(verdicts)
        for score in measured:
            _print_scores(score)
    if not good:
        raise typer.Exit(1)


def _print_verdicts(verdicts: list[Any]) -> None:
    from components.model.weights import cache_folder
    from pipelines.weights.verification import STATUSES

    if not verdicts:
        typer.echo(f"No published weights are in {cache_folder()}; `dogflow weights pull` brings them.")
    for verdict in verdicts:
        typer.echo(f"{verdict.reference}: {STATUSES[verdict.status]} ({verdict.file})")
        if verdict.sha256:
            typer.echo(f"  sha256 {verdict.sha256}")
        if verdict.status == "different":
            typer.echo(f"  wanted {verdict.expected}")


def _print_scores(score: Any) -> None:
    typer.echo(f"{score.reference}: scores on drawn pictures are {'' if score.sensible else 'NOT '}sensible")
    for name, value in score.values.items():
        against = f" (recorded {value - score.differences[name]:.4f})" if name in score.differences else ""
        typer.echo(f"  {name}: {value:.4f}{against}")
    if not score.recorded:
        typer.echo("  No values are recorded for this model, so there is nothing to compare them with.")


def _table(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("reference", "kind", "here", "file", "sha256"):
        table.add_column(name, no_wrap=name in ("reference", "here"), overflow="fold")
    for row in rows:
        digest = f"{row['sha256'][:12]}..." if len(row["sha256"]) == 64 else row["sha256"] or "not published"
        table.add_row(row["reference"], row["kind"], "yes" if row["here"] else "no", row["file"], digest)
    return table
