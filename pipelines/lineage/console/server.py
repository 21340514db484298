"""Serves the console until it is stopped."""

import socket
import webbrowser
from pathlib import Path
from threading import Timer

import typer
import uvicorn

from pipelines.lineage.console.app import create_app
from pipelines.lineage.console.security import LOGIN_PATH, access_for


class ConsoleError(OSError):
    """The console cannot listen where it was asked to; the message names the fix."""


def serve(home: Path, host: str, port: int, open_browser: bool) -> None:
    """Answer on `host`:`port` until Ctrl-C; says where, and opens a browser there if asked to.

    Beyond loopback the link that is printed lets one browser in, once; the token is for scripts.
    """
    access = access_for(host)
    config = uvicorn.Config(
        create_app(home, access),
        host=host,
        port=port,
        # Requests are not logged: a one-time link would stand there.
        access_log=False,
        log_level="warning",
        server_header=False,
        ws="none",
    )
    server = uvicorn.Server(config)
    listener = _listener(host, port)
    # Of "every address" the name of this machine is one that others can open.
    named = socket.gethostname() if host in ("0.0.0.0", "::") else host
    shown = named if ":" not in named else f"[{named}]"
    url = f"http://{shown}:{listener.getsockname()[1]}"
    if access.token:
        url += f"{LOGIN_PATH}?link={access.link}"
        typer.echo(f"Console, for one browser, once: {url}")
        typer.echo(f"Token for scripts (Authorization: Bearer ...): {access.token}")
        typer.echo("Traffic is not encrypted: use it in networks you trust, or through an SSH tunnel.")
    else:
        typer.echo(f"Console: {url}")
    if open_browser:
        Timer(0.5, webbrowser.open, [url]).start()
    server.run(sockets=[listener])


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        raise ConsoleError(
            f"The console cannot listen on {host}, port {port} ({error.strerror or error}): choose another "
            "--port (0 takes a free one) or --host."
        ) from None
