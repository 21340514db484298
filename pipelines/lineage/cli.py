"""`dogflow lineage`: where things come from and what they went into."""

from typing import TYPE_CHECKING, Annotated

import typer

WIDE = 1000  # columns

if TYPE_CHECKING:
    from pipelines.lineage.graph import Graph

app = typer.Typer(
    help="Where things come from, and what they went into.",
    no_args_is_help=True,
    add_completion=False,
)

DataRoot = Annotated[
    str, typer.Option(help="Look here alone.", show_default="every data root that a run wrote to")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def open_graph(data_root: str = "") -> "Graph":
    """The graph of this dogflow home, or of one data root with the runs that wrote to it."""
    from dataclasses import replace

    from pipelines.home import dogflow_home
    from pipelines.lineage.graph import build
    from pipelines.lineage.roots import open_roots
    from pipelines.runs.record import Runs

    records = list(Runs(dogflow_home()))
    stores, problems = open_roots(dogflow_home(), records, data_root)
    if data_root:
        records = [record for record in records if record.data_root.rstrip("/") == data_root.rstrip("/")]
    graph = build(stores, records)
    return replace(graph, problems=(*problems, *graph.problems))


@app.command("list")
def list_command(
    kind: Annotated[str, typer.Option(help="Only one kind: dataset, model, samples, run, ...")] = "",
    data_root: DataRoot = "",
    as_json: AsJson = False,
) -> None:
    """List everything that has a lineage: sources, datasets, models, samples, evaluations, reports, runs."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from pipelines.lineage.graph import KINDS, LineageError
    from pipelines.lineage.plain import node_json
    from pipelines.runs.record import to_json

    if kind and kind not in KINDS:
        raise LineageError(f"--kind {kind} is none of {', '.join(KINDS)}.")
    graph = open_graph(data_root)
    nodes = [node for node in graph.nodes.values() if not kind or node.kind == kind]
    if as_json:
        typer.echo(to_json([node_json(node) for node in nodes]))
        return
    if not nodes:
        typer.echo("Nothing here yet: `dogflow run` and `dogflow demo` make something.")
        warn(graph)
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("id", no_wrap=True, min_width=max(len(node.id) for node in nodes))
    for heading in ("kind", "what", "runs", ""):
        table.add_column(heading, no_wrap=True)
    for node in nodes:
        gone = "" if node.found else "gone"
        table.add_row(node.id, node.kind, Text(node.label), str(len(node.made_by) or ""), gone)
    console = Console()
    if not console.is_terminal:
        console.width = WIDE  # for grep and cut: whole lines, whatever the width of a terminal would be
    console.print(table)
    warn(graph)


def warn(graph: "Graph") -> None:
    """Say on stderr what could not be read."""
    for problem in graph.problems:
        typer.echo(f"warning: {problem}", err=True)


@app.command("trace")
def trace_command(
    what: Annotated[
        str,
        typer.Argument(
            help="image_id or source_uri of a photo; id or URI of an artifact; id of a run; a file such as "
            "grid.png. The beginning of an id is enough."
        ),
    ],
    files: Annotated[bool, typer.Option("--files", help="Of an artifact: list its raw files too.")] = False,
    data_root: DataRoot = "",
    as_json: AsJson = False,
) -> None:
    """Where something comes from, back to the raw files, and what it went into."""
    from dataclasses import asdict

    from pipelines.lineage.graph import LineageError
    from pipelines.lineage.photo import PhotoTrace
    from pipelines.lineage.trace import raw_files, trace, trace_json
    from pipelines.lineage.view import show_trace
    from pipelines.runs.record import to_json

    graph = open_graph(data_root)
    traced = trace(graph, what)
    if files and isinstance(traced, PhotoTrace):
        raise LineageError(f"{what} is a photo: --files lists the raw files of an artifact.")
    listed = list(raw_files(graph, traced.node.id)) if files and not isinstance(traced, PhotoTrace) else []
    if as_json:
        plain = trace_json(traced)
        typer.echo(to_json({**plain, "files": [asdict(file) for file in listed]} if files else plain))
        return
    show_trace(traced, listed)


@app.command("export")
def export_command(
    format: Annotated[str, typer.Option(help="openlineage, json or dot.")] = "json",
    output: Annotated[str, typer.Option("--output", "-o", help="File to write.", show_default="stdout")] = "",
    data_root: DataRoot = "",
) -> None:
    """Write the whole graph: for other tools (openlineage), for scripts (json), for a drawing (dot)."""
    from pathlib import Path

    from pipelines.lineage.export import export

    graph = open_graph(data_root)
    text = export(graph, format)
    if output:
        Path(output).write_text(text, encoding="utf-8")
    else:
        typer.echo(text, nl=False)
    warn(graph)


@app.command("serve")
def serve_command(
    host: Annotated[str, typer.Option(help="Address to listen on; beyond loopback a token is needed.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8765,
    open_browser: Annotated[bool, typer.Option("--open", help="Open a browser.")] = False,
) -> None:
    """Show runs, artifacts, lineage, thresholds and photos to review in a browser."""
    from pipelines.home import dogflow_home
    from pipelines.lineage.console.server import serve

    serve(dogflow_home(), host, port, open_browser)
