"""`dogflow demo`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from components.data.manifest import Manifest
    from components.data.storage import Store
    from pipelines.runs.record import RunRecord

app = typer.Typer(add_completion=False)


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="Seed of the synthetic dogs.")] = 0,
    clean_per_breed: Annotated[int, typer.Option(help="Good photos of each of the eight breeds.")] = 64,
    assignments: Annotated[
        list[str] | None, typer.Option("-p", "--param", help="step.option=value; goes before the profile.")
    ] = None,
    data_root: Annotated[
        str,
        typer.Option(help="s3://bucket/prefix, file:///folder or a path.", show_default="the embedded store"),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print what came out as JSON.")] = False,
) -> None:
    """The whole pipeline on synthetic dogs with planted defects: no GPU, network or account.

    The same command again computes nothing anew.
    """
    import json

    from rich.console import Console

    from pipelines.commands.run import absolute_root, report_end
    from pipelines.compile import load
    from pipelines.home import dogflow_home
    from pipelines.launch import launch, plan
    from pipelines.runners.view import SilentView, view_for
    from pipelines.values import resolve

    home = dogflow_home()
    photos = _photos(home / "demo" / f"dogs-{clean_per_breed}-seed-{seed}", seed, clean_per_breed)
    given: dict[str, Any] = {"data_root": absolute_root(data_root)} if data_root else {}
    given["ingest.source"] = str(photos)
    pipeline = load("dog_breed")
    values = resolve(pipeline, profile="demo", file=None, assignments=assignments or [], given=given)
    planned = plan(pipeline, values, profile="demo", partitions=1, runner="subprocess")
    console = Console(file=sys.stdout)
    record = launch(planned, home, SilentView() if as_json else view_for(console))
    report_end(record, home / "runs" / record.run_id)
    results = _results(record, home, photos)
    if as_json:
        typer.echo(json.dumps(results, indent=2))
    else:
        _show(console, results)


def _photos(folder: Path, seed: int, clean_per_breed: int) -> Path:
    """The synthetic set, drawn once; a half-drawn one is never taken for whole."""
    if folder.is_dir():
        return folder
    from pipelines.demo.dataset import make_dataset

    print(f"Drawing synthetic dogs into {folder}", file=sys.stderr, flush=True)
    drawing = folder.with_name(folder.name + ".drawing")
    if drawing.exists():
        import shutil

        shutil.rmtree(drawing)
    make_dataset(drawing, seed, clean_per_breed)
    drawing.rename(folder)
    return folder


def _results(record: "RunRecord", home: Path, photos: Path) -> dict[str, Any]:
    """Where report and model are, the scores, and how the planted defects were found."""
    import os

    from components.data.artifacts import REPORT_PAGE, EvaluationManifest, ModelManifest, ReportManifest
    from components.data.manifest import DatasetManifest
    from components.data.storage import open_store
    from pipelines.launch import embedded_environment

    if record.embedded_store:
        os.environ.update(embedded_environment(home))
    store = open_store(record.data_root)

    def of(task: str, kind: type["Manifest"]) -> Any:
        return kind.load(store, _manifest_path(record, task))

    evaluation = of("evaluation", EvaluationManifest)
    model = of("stage2", ModelManifest)
    report = of("report", ReportManifest)
    folder = home / "runs" / record.run_id
    (folder / "report.html").write_bytes(store.read(report.files[REPORT_PAGE].path))
    (folder / "samples.png").write_bytes(store.read(evaluation.files["grid"].path))
    return {
        "run": record.run_id,
        "report": str(folder / "report.html"),
        "samples": str(folder / "samples.png"),
        "model": store.locate(model.path),
        "metrics": evaluation.counters,
        "metric_of": evaluation.details["extractor"],
        "planted": _planted(store, of("selection", DatasetManifest), photos),
    }


def _manifest_path(record: "RunRecord", task: str) -> str:
    """Path under the data root of what a task made."""
    uri = str(record.result(task).metadata["data_uri"])
    return uri.removeprefix(record.data_root.rstrip("/")).lstrip("/")


def _planted(store: "Store", selected: Any, photos: Path) -> list[dict[str, Any]]:
    from components.data.shards import read_table
    from pipelines.demo.check import found_defects, read_truth

    columns = ["source_uri", "reasons", "similarity_skipped_by", "foreground_skipped_by"]
    rows = read_table(store, selected, columns).to_pylist()
    return [
        {**vars(found), "recall": found.recall, "precision": found.precision}
        for found in found_defects(rows, read_truth(photos / "truth.jsonl"))
    ]


def _show(console: "Console", results: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(title="Planted defects", box=None, pad_edge=False)
    for heading in ("reason", "planted", "recall", "precision"):
        table.add_column(heading, justify="left" if heading == "reason" else "right")
    for row in results["planted"]:
        table.add_row(row["reason"], str(row["planted"]), f"{row['recall']:.3f}", f"{row['precision']:.3f}")
    console.print(table)
    metrics = results["metrics"]
    console.print(
        f"Breed accuracy {metrics['breed_accuracy']:.2f} over {metrics['samples']:.0f} drawn pictures "
        f"(a guesser by colour alone: {metrics['histogram_accuracy']:.2f}); {results['metric_of']} "
        f"{metrics['frechet_distance']:.4g}, of which two halves of the real pictures differ by "
        f"{metrics['frechet_floor']:.4g}.",
        markup=False,
    )
    for name in ("report", "samples", "model"):
        console.print(f"{name.capitalize()}: {results[name]}", markup=False, soft_wrap=True)
