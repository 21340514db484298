"""`dogflow runs`."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.runs.record import RunRecord

app = typer.Typer(invoke_without_command=True, add_completion=False)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def runs(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="How many to list, newest first.")] = 20,
    as_json: _Json = False,
) -> None:
    """List runs, or show one."""
    if context.invoked_subcommand is None:
        list_runs(limit, as_json)


@app.command("list")
def list_runs(
    limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20, as_json: _Json = False
) -> None:
    """List runs, the newest first."""
    from itertools import islice

    from rich.console import Console
    from rich.table import Table

    from pipelines.home import dogflow_home
    from pipelines.runners.view import duration
    from pipelines.runs.record import DONE, Runs, to_json

    found = list(islice(Runs(dogflow_home()), limit))
    if as_json:
        fields = {"run_id", "pipeline", "runner", "state", "started_at", "ended_at", "profile", "error"}
        typer.echo(to_json([record.model_dump(include=fields) for record in found]))
        return
    if not found:
        typer.echo("No runs yet: start one with `dogflow run`.")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("run", "pipeline", "state", "time", "tasks"):
        table.add_column(heading, no_wrap=True)
    for record in found:
        done = sum(task.state in DONE for task in record.tasks)
        count = f"{done}/{len(record.tasks)}"
        table.add_row(record.run_id, record.pipeline, record.state, duration(record.seconds), count)
    Console().print(table)


@app.command()
def show(
    run_id: Annotated[str, typer.Argument(help="A run's id, its beginning, or latest.")] = "latest",
    as_json: _Json = False,
) -> None:
    """Show one run: tasks, errors, the last lines of failed tasks' logs, and how to go on."""
    from rich.console import Console

    from pipelines.home import dogflow_home
    from pipelines.runners.view import duration, run_table
    from pipelines.runs.record import Runs

    runs_here = Runs(dogflow_home())
    record = runs_here.load(run_id)
    if as_json:
        typer.echo(record.model_dump_json(indent=2))
        return
    console = Console()
    console.print(run_table(record))
    console.print(f"\n{record.state} in {duration(record.seconds)}, data in {record.data_root}", markup=False)
    if record.parent_run:
        console.print(f"Rerun of {record.rerun_of} of {record.parent_run}", markup=False, soft_wrap=True)
    folder = runs_here.folder_of(record.run_id)
    console.print(f"Logs and artifacts: {folder}", markup=False, soft_wrap=True)
    for line in how_it_ended(record, folder):
        console.print(line, markup=False, soft_wrap=True)


def how_it_ended(record: "RunRecord", folder: "Path") -> list[str]:
    """Lines for a run that did not succeed: errors, ends of logs, and the command that goes on."""
    from pipelines.runners.tasklog import last_lines

    lines = []
    stopped = [task for task in record.tasks if task.state in ("failed", "interrupted")]
    for task in stopped:
        if task.log and (end := last_lines(folder / task.log)):
            lines += [f"\nThe last lines of {folder / task.log}:", *(f"  {line}" for line in end)]
        if task.error:
            lines.append(f"error: {task.name}: {task.error}")
    if record.error and not any(task.error for task in stopped):
        lines.append(f"error: {record.error}")
    if stopped:
        again = f"dogflow rerun {record.run_id} {stopped[0].name} --downstream"
        lines.append(f"Go on with `{again}` (-p step.option=value changes an option): what is done stays.")
    elif record.state in ("failed", "interrupted"):
        lines.append("Go on with the same command: what is done is not done again.")
    return lines
