"""`dogflow bench`: the figures this project promises, measured on this machine."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pipelines.bench.figures import Report
    from pipelines.runs.record import RunRecord

app = typer.Typer(
    name="bench",
    help="Measure the promised figures on this machine, each in a minute or so. Other work lowers rates, so "
    "trust ratios.",
    no_args_is_help=True,
)
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Rounds = Annotated[int, typer.Option(min=1, help="Timed rounds; medians count.")]


@app.command()
def quality(
    rows: Annotated[int, typer.Option(min=1, help="Photos of 1600 x 1200 px in the shard.")] = 64,
    rounds: Rounds = 5,
    workers: Annotated[int, typer.Option(min=1, help="Threads.")] = 2,
    as_json: Json = False,
) -> None:
    """Parquet to sharpness scores, against PIL with a float64 filter and against the bare decode."""
    from pipelines.bench.quality import bench_quality

    _finish(bench_quality(rows=rows, rounds=rounds, workers=workers), as_json)


@app.command()
def layout(
    rows: Annotated[int, typer.Option(min=1, help="Photos of 378 KB in the shard.")] = 256,
    rounds: Rounds = 5,
    as_json: Json = False,
) -> None:
    """One new score: a file beside the photos, or the photos written again; in a folder and on S3."""
    from pipelines.bench.layout import bench_layout

    _finish(bench_layout(rows=rows, rounds=rounds), as_json)


@app.command()
def select(
    rows: Annotated[int, typer.Option(min=100, help="Rows of the largest of three sizes.")] = 1_000_000,
    rounds: Rounds = 5,
    as_json: Json = False,
) -> None:
    """Another selection from stored scores: in memory, from the manifest, growth, peak memory."""
    from pipelines.bench.select import bench_select

    _finish(bench_select(sizes=(rows // 100, rows // 10, rows), rounds=rounds), as_json)


@app.command()
def store(
    megabytes: Annotated[int, typer.Option(min=1, help="Size of the large object.")] = 64,
    small: Annotated[int, typer.Option(min=1, help="Number of small objects.")] = 100,
    rounds: Rounds = 3,
    as_json: Json = False,
) -> None:
    """The embedded S3 server against a local folder: large and small objects."""
    from pipelines.bench.store import bench_store

    _finish(bench_store(megabytes=megabytes, small=small, rounds=rounds), as_json)


@app.command()
def model(
    run: Annotated[str, typer.Option(help="Run of dog-breed: its datasets and options.")] = "latest",
    seeds: Annotated[int, typer.Option(min=1, help="Trainings, with seeds 0, 1, ...")] = 3,
    as_json: Json = False,
) -> None:
    """Breed accuracy and distances after each stage, over seeds, beside a control; minutes a seed."""
    from pipelines.bench.model import bench_model

    _finish(bench_model(_record(run), range(seeds)), as_json)


@app.command()
def ablation(
    run: Annotated[str, typer.Option(help="Run of dog-breed: its datasets and options.")] = "latest",
    seeds: Annotated[int, typer.Option(min=1, help="Trainings of each variant, with seeds 0, 1, ...")] = 3,
    variant: Annotated[
        list[str] | None, typer.Option(help="Only this one; may be repeated. All without it.")
    ] = None,
    share: Annotated[float, typer.Option(min=0.001, max=1, help="Share of the run's steps.")] = 1.0,
    as_json: Json = False,
) -> None:
    """What each part of training is worth: one changed at a time, over seeds; minutes a training."""
    from pipelines.bench.ablation import VARIANTS, bench_ablation

    names = variant or list(VARIANTS)
    unknown = sorted(set(names) - set(VARIANTS))
    if unknown:
        known = "; ".join(VARIANTS)
        raise typer.BadParameter(f"{unknown[0]!r} is no variant. There are: {known}.", param_hint="--variant")
    _finish(bench_ablation(_record(run), range(seeds), names, share), as_json)


def _record(run: str) -> "RunRecord":
    """The run, with the embedded store up if it was used."""
    import os

    from pipelines.home import dogflow_home
    from pipelines.launch import embedded_environment
    from pipelines.runs.record import Runs

    record = Runs(dogflow_home()).load(run)
    if record.embedded_store:
        os.environ.update(embedded_environment(dogflow_home()))
    return record


def _finish(report: "Report", as_json: bool) -> None:
    """Print; a missed target is told, not an error: a busy machine is no fault of the code."""
    import os

    from pipelines.bench.figures import show

    report.conditions["load_after"] = round(os.getloadavg()[0], 2)
    if as_json:
        typer.echo(report.to_json())
    else:
        show(report)
