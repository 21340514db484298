"""`dogflow doctor`."""

from typing import Annotated

import typer

app = typer.Typer(add_completion=False)

_STYLES = {"ok": "green", "warning": "yellow", "bad": "bold red"}


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Check this machine: libraries, memory, devices, storage. Exit code 1 when something is bad."""
    from dataclasses import asdict

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from pipelines.doctor import check_all
    from pipelines.runs.record import to_json

    findings = check_all()
    if as_json:
        typer.echo(to_json([asdict(finding) for finding in findings]))
    else:
        table = Table(box=None, pad_edge=False, show_header=False)
        for finding in findings:
            status = Text(finding.status, style=_STYLES[finding.status])
            table.add_row(finding.subject, status, Text(finding.found))
        Console().print(table)
    if any(finding.status == "bad" for finding in findings):
        raise typer.Exit(1)
