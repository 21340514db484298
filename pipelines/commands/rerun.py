"""`dogflow rerun`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from pipelines.runners.rerun import Rerun

app = typer.Typer(add_completion=False)


@app.command()
def rerun(
    run: Annotated[str, typer.Argument(help="A run's id, its beginning, or latest.")],
    task: Annotated[str, typer.Argument(help="The task to run again.")],
    assignments: Annotated[
        list[str] | None, typer.Option("-p", "--param", help="step.option=value to change.")
    ] = None,
    downstream: Annotated[
        bool, typer.Option("--downstream", help="Also run all that depends on the task.")
    ] = False,
    until: Annotated[str, typer.Option(help="Also run what lies between the task and this one.")] = "",
    backfill: Annotated[
        bool, typer.Option("--backfill", help="Widen the score scopes to what the selection needs.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would run, what is reused and what it may cost.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: the plan of a dry run, else the run's record.")
    ] = False,
) -> None:
    """Run a task of an earlier run again, with that run's inputs.

    Its options are that run's too, but for those you change.

    Without --downstream or --until, the task alone runs. The same command again goes on where it stopped.
    """
    from rich.console import Console

    from pipelines.commands.run import report_end
    from pipelines.home import dogflow_home
    from pipelines.runners.rerun import plan, start
    from pipelines.runners.view import SilentView, view_for
    from pipelines.runs.record import to_json

    home = dogflow_home()
    planned = plan(home, run, task, assignments or [], downstream=downstream, until=until, backfill=backfill)
    console = Console(file=sys.stdout)
    if not as_json:
        _show(console, planned)
    if dry_run:
        typer.echo(to_json(planned.to_dict()) if as_json else "Nothing was started.")
        return
    record = start(planned, home, SilentView() if as_json else view_for(console))
    if as_json:
        typer.echo(record.model_dump_json(indent=2))
    report_end(record, home / "runs" / record.run_id)


def _show(console: "Console", planned: "Rerun") -> None:
    def line(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    line(f"Rerun of {planned.task} of {planned.parent_run}")
    for key, (before, after) in planned.changes.items():
        line(f"  {key}: {before!r} -> {after!r}")
    line("Runs:")
    width = max(len(name) for name in planned.runs)
    for name, cost in planned.runs.items():
        rows = "" if cost.rows is None else f"{cost.rows:,} pictures to score: "
        line(f"  {name:<{width}}  {_about(cost.seconds):>11}  {rows}{cost.basis}")
    line(f"Reuses: {', '.join(planned.reused) or 'nothing'}")
    if planned.left_out:
        line(f"Leaves out: {', '.join(planned.left_out)} (--downstream runs what depends on the task)")
    for note in planned.notes:
        line(note)
    unknown = [name for name, cost in planned.runs.items() if cost.seconds is None]
    end = f", and {', '.join(unknown)}, whose time is not known" if unknown else ""
    line(f"About {_about(planned.seconds)} if nothing of it was done before{end}.")


def _about(seconds: float | None) -> str:
    from pipelines.runners.view import duration

    return "?" if seconds is None else duration(seconds)
