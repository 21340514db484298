"""`dogflow run`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from pipelines.definition import Pipeline
    from pipelines.launch import Plan
    from pipelines.runs.record import RunRecord, TaskRecord
    from pipelines.values import Values

app = typer.Typer(add_completion=False)


@app.command()
def run(
    pipeline: Annotated[str, typer.Argument(help="Its name, or module:attribute of your own.")] = "curation",
    profile: Annotated[str, typer.Option(help="Named set of options: strict, wild ...")] = "",
    assignments: Annotated[
        list[str] | None,
        typer.Option("-p", "--param", help="step.option=value; goes before profile and file."),
    ] = None,
    file: Annotated[Path | None, typer.Option("-f", "--file", help="YAML file of options.")] = None,
    data_root: Annotated[
        str,
        typer.Option(help="s3://bucket/prefix, file:///folder or a path.", show_default="the embedded store"),
    ] = "",
    partitions: Annotated[int, typer.Option(help="Parallel tasks of each scoring step.")] = 1,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would run, with which options.")
    ] = False,
    runner: Annotated[str, typer.Option(help="Where tasks run: subprocess.")] = "subprocess",
    backfill: Annotated[
        bool, typer.Option("--backfill", help="Widen the score scopes to what the selection needs.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the run's record as JSON at the end.")
    ] = False,
) -> None:
    """Run a pipeline on your photos. The same command again goes on where it stopped.

    Options: defaults < profile < file < -p.
    """
    from rich.console import Console

    from pipelines.backfill import widened
    from pipelines.compile import load
    from pipelines.home import dogflow_home
    from pipelines.launch import launch, plan
    from pipelines.runners.view import SilentView, view_for
    from pipelines.values import resolve

    if runner != "subprocess":
        raise typer.BadParameter(f"There is no runner {runner}; known: subprocess.")
    loaded = load(pipeline)
    given = {"data_root": absolute_root(data_root)} if data_root else {}
    values = resolve(loaded, profile=profile, file=file, assignments=assignments or [], given=given)
    if backfill:
        values = widened(loaded, values)
    planned = plan(loaded, values, profile=profile, partitions=partitions, runner=runner)
    # Bound to this stdout: kfp's own goes to a file while it runs.
    console = Console(file=sys.stdout)
    if dry_run:
        _show_plan(console, loaded, values, planned, as_json)
        return
    record = launch(planned, dogflow_home(), SilentView() if as_json else view_for(console))
    if as_json:
        typer.echo(record.model_dump_json(indent=2))
    report_end(record, dogflow_home() / "runs" / record.run_id)


def absolute_root(data_root: str) -> str:
    """A path as tasks need it: they may run in another directory."""
    if "://" in data_root:
        return data_root
    return str(Path(data_root).expanduser().absolute())


def _show_plan(
    console: "Console", pipeline: "Pipeline", values: "Values", planned: "Plan", as_json: bool
) -> None:
    from rich.table import Table

    from pipelines.runs.record import to_json

    tasks = [task.name for task in planned.record.tasks]
    if as_json:
        parameters = planned.record.parameters
        typer.echo(to_json({"tasks": tasks, "parameters": parameters, "sources": values.sources}))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("option", "value", "from", "what it is"):
        table.add_column(heading)
    for name, parameter in pipeline.parameters.items():
        value = planned.record.parameters[name]
        source = values.sources[name]
        style = "" if source == "default" else "bold"
        table.add_row(parameter.key, repr(value), source, parameter.help, style=style)
    console.print(table)
    console.print(f"Tasks: {', '.join(tasks)}. Nothing was started.", markup=False)


def report_end(record: "RunRecord", folder: Path) -> None:
    """The end of a run, on stderr where it is not good; exits non-zero then."""
    from pipelines.runners.tasklog import last_lines
    from pipelines.runners.view import duration

    if record.state == "succeeded":
        print(f"Run {record.run_id} succeeded in {duration(record.seconds)}.", file=sys.stderr)
        return
    failures: dict[tuple[str, str], list[TaskRecord]] = {}
    for task in record.tasks:
        if task.state == "failed":
            failures.setdefault((task.step, task.error), []).append(task)
    for first, *others in failures.values():  # the parts of a split step tend to fail alike
        print(f"\nThe last lines of {folder / first.log}:", file=sys.stderr)
        print("\n".join(f"  {line}" for line in last_lines(folder / first.log)), file=sys.stderr)
        names = ", ".join(task.name for task in [first, *others])
        print(f"error: {names}: {first.error}", file=sys.stderr)
    if record.state == "interrupted":
        print(f"Run {record.run_id} was interrupted.", file=sys.stderr)
    elif not failures:
        print(f"error: {record.error}", file=sys.stderr)
    print("The same command goes on from there: what is done is not done again.", file=sys.stderr)
    raise typer.Exit(130 if record.state == "interrupted" else 1)
