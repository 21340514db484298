"""`dogflow store`: start, stop and look at the embedded S3 server."""

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from pipelines.home import dogflow_home

app = typer.Typer(
    name="store",
    help="The embedded S3 server: this machine only, data in .dogflow/store (or $DOGFLOW_HOME/store).",
    no_args_is_help=True,
)


@app.command("up")
def up_command(
    port: Annotated[
        int,
        typer.Option(
            help="S3 port, the first of nine in a row that it needs. 0: the last ones, or any that are free."
        ),
    ] = 0,
) -> None:
    """Start the store, or say where it runs. Its data and credentials are kept between starts."""
    from pipelines.store import server

    with _sentences():
        info = server.up(dogflow_home(), port)
    typer.echo(f"The store runs at {info.endpoint_url}, bucket s3://{server.BUCKET}.")
    typer.echo('To use it from this shell: eval "$(dogflow store env)"')


@app.command("down")
def down_command() -> None:
    """Stop the store. Everything in it is kept."""
    from pipelines.store import server

    with _sentences():
        ran = server.down(dogflow_home())
    typer.echo("The store is stopped." if ran else "The store was not running.")


@app.command("status")
def status_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, without secrets.")] = False,
) -> None:
    """Show whether the store runs, where, and how much memory it holds. Exit code 1 when it does not run."""
    from pipelines.store import server

    with _sentences():
        info = server.status(dogflow_home())
    running = info is not None and info.running
    if as_json:
        shown: dict[str, object] = {"running": running}
        if info is not None:
            shown |= {
                "endpoint_url": info.endpoint_url,
                "region": info.region,
                "port": info.port,
                "pid": info.pid,
            }
            shown |= {"bucket": server.BUCKET, "data_dir": str(info.data_dir), "rss_bytes": info.rss_bytes}
        typer.echo(json.dumps(shown))
    elif info is None:
        typer.echo(f"There is no store in {dogflow_home()}. `dogflow store up` makes one.")
    elif not running:
        typer.echo(f"The store is stopped. Its data is in {info.data_dir}. `dogflow store up` starts it.")
    else:
        typer.echo(f"The store runs at {info.endpoint_url}, bucket s3://{server.BUCKET}, process {info.pid}.")
        typer.echo(f"Memory {info.rss_bytes / 1e6:.0f} MB, data in {info.data_dir}.")
    if not running:
        raise typer.Exit(1)


@app.command("env")
def env_command() -> None:
    """Print `export` lines for a shell. They hold the store's SECRET key: do not paste them anywhere."""
    from pipelines.store import server

    with _sentences():
        info = server.status(dogflow_home())
    if info is None or not info.running:
        typer.echo("The store does not run: `dogflow store up` starts it.", err=True)
        raise typer.Exit(1)
    typer.echo("These lines hold the store's secret key; use them with eval.", err=True)
    for name, value in server.environment(info).items():
        typer.echo(f"export {name}={shlex.quote(value)}")


@app.command("gc")
def gc_command(
    data_root: Annotated[
        str, typer.Option(help="Where to clean up.", show_default="the embedded store")
    ] = "",
    keep: Annotated[
        list[str] | None, typer.Option(help="Path of a further manifest under the data root to keep.")
    ] = None,
    min_age_hours: Annotated[float, typer.Option(help="Leave what is younger.", min=0)] = 24.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Delete data that no run names any more. To let go of a run, delete its folder first."""
    import os
    from datetime import timedelta

    from components.data.storage import open_store
    from pipelines.home import dogflow_home
    from pipelines.launch import embedded_environment
    from pipelines.runs.record import Runs
    from pipelines.store.garbage import delete, find_garbage
    from pipelines.store.server import EMBEDDED_DATA_ROOT

    with _sentences():
        if not data_root:
            os.environ.update(embedded_environment(dogflow_home()))
    root = (data_root or EMBEDDED_DATA_ROOT).rstrip("/")
    store = open_store(root)
    named = {
        str(output.metadata["data_uri"]).removeprefix(root).lstrip("/")
        for record in Runs(dogflow_home())
        if record.data_root.rstrip("/") == root
        for task in record.tasks
        for output in task.outputs.values()
        if "data_uri" in output.metadata
    }
    garbage = find_garbage(store, {*named, *(keep or [])}, min_age=timedelta(hours=min_age_hours))
    if not dry_run:
        delete(store, garbage)
    said = "would be deleted" if dry_run else "deleted"
    typer.echo(
        f"{len(garbage.files):,} objects ({garbage.bytes / 1e6:,.1f} MB) {said}, {garbage.kept:,} kept."
    )


@contextmanager
def _sentences() -> Iterator[None]:
    """Turn the store's errors into one line on stderr and exit code 1."""
    from pipelines.store.credentials import CredentialsError
    from pipelines.store.server import StoreServerError

    try:
        yield
    except (StoreServerError, CredentialsError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
