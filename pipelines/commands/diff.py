"""`dogflow diff`."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from pipelines.runs.diff import Change, Row, RunsDiff

app = typer.Typer(add_completion=False)

# Rows of each list in the terminal; --json and --html have more.
_ROWS = 10


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A run's id, its beginning, or latest.")],
    after: Annotated[str, typer.Argument(help="The run to compare it with.")] = "latest",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every row.")] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with thumbnails of the photos that came and went.")
    ] = None,
) -> None:
    """What differs between two runs, and which photos came and went."""
    from rich.console import Console

    from pipelines.home import dogflow_home
    from pipelines.runs.diff import diff as compare
    from pipelines.runs.record import to_json

    home = dogflow_home()
    compared = compare(home, before, after)
    if html is not None:
        from pipelines.runs.diff_page import diff_page

        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(diff_page(home, compared), encoding="utf-8")
    if as_json:
        typer.echo(to_json(compared.to_dict()))
        return
    _show(Console(file=sys.stdout), compared)
    if html is not None:
        typer.echo(f"Page: {html}")


def _show(console: "Console", compared: "RunsDiff") -> None:
    _line(console, f"From {compared.before} to {compared.after}")
    tables = {
        "options": compared.options,
        "code": compared.code_versions,
        "tasks": compared.tasks,
        "counters": compared.counters,
    }
    for title, table in tables.items():
        if table:
            _changes(console, title, table)
    for name, changed in compared.rows.items():
        kept = f"{changed.kept_before:,} -> {changed.kept_after:,} kept"
        _line(console, f"\n{name}: {kept}, {len(changed.came):,} came, {len(changed.went):,} went")
        for sign, rows in (("+", changed.came), ("-", changed.went)):
            for row in rows[:_ROWS]:
                _line(console, _photo(sign, row))
            if len(rows) > _ROWS:
                _line(console, f"  {sign} {len(rows) - _ROWS:,} more: --json or --html lists them")
    for note in compared.notes:
        _line(console, note)
    if not any(tables.values()) and not any(c.came or c.went for c in compared.rows.values()):
        _line(console, "Nothing is different.")


def _changes(console: "Console", title: str, table: "Mapping[str, Change]") -> None:
    _line(console, f"\n{title}")
    width = max(len(key) for key in table)
    for key, change in table.items():
        _line(console, f"  {key:<{width}}  {_value(change.before)} -> {_value(change.after)}")


def _value(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _photo(sign: str, row: "Row") -> str:
    return f"  {sign} {row.source_uri or row.image_id}  {', '.join(row.reasons)}"


def _line(console: "Console", text: str) -> None:
    """Foreign names may hold markup and control characters: they are shown as text."""
    shown = "".join(c if c.isprintable() or c == "\n" else "?" for c in text)
    style = "green" if shown.startswith("  + ") else "red" if shown.startswith("  - ") else ""
    if not shown.startswith("  "):
        style = "bold"
    console.print(shown, style=style, markup=False, highlight=False, soft_wrap=True)
