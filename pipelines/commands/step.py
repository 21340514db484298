"""`dogflow step NAME`: the commands are made from the steps' option models."""

import ast
import inspect
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import components

# What every step's command has beside the step's options: (type, default) by name.
_COMMON: dict[str, tuple[Any, Any]] = {
    "manifest": (
        Annotated[
            list[str] | None, typer.Option(help="Manifest to work on: URI, file, or path in the data root.")
        ],
        None,
    ),
    "data_root": (
        Annotated[
            str,
            typer.Option(
                help="s3://bucket/prefix, file:///folder or a path.", show_default="the embedded store"
            ),
        ],
        "",
    ),
    "as_json": (Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")], False),
}


class _Step(TyperCommand):
    """Stands in the list of steps for a command that is not made yet."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Make the real command, which takes over from here."""
        assert self.name is not None
        return _command(self.name).make_context(info_name, args, parent, **extra)


class _Steps(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, summary in step_summaries().items():
            self.add_command(_Step(name, help=summary, add_help_option=False))


app = typer.Typer(cls=_Steps, no_args_is_help=True)


@app.callback()
def step() -> None:
    """Run one step on a manifest, without KFP."""


@cache
def step_summaries() -> dict[str, str]:
    """First line of the docstring of every step, by name; imports none."""
    folder = Path(components.__path__[0])
    return {
        path.parent.name: (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]
        for path in sorted(folder.glob("*/step.py"))
    }


def _command(name: str) -> Any:
    made = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
    made.command(name, help=step_summaries()[name])(_function(name))
    return typer.main.get_command(made)


def _function(name: str) -> Callable[..., None]:
    """A function with one keyword for each option of the step, as Typer reads commands from."""
    from pipelines.parameters import Use, options_model, parameters_of

    parameters = parameters_of([Use(name, name, options_model(f"components.{name}"), {}, {})])
    mine = {parameter.option: parameter for parameter in parameters.values() if parameter.option}
    keywords = dict(_COMMON)
    for option, parameter in mine.items():
        kind = bool if parameter.type is bool else str
        flag = f"--{option.replace('_', '-')}"
        flags = f"{flag}/--no-{flag[2:]}" if kind is bool else flag
        information = typer.Option(
            flags,
            help=parameter.help,
            show_default=repr(parameter.default),
            metavar=None if kind is bool else parameter.type.__name__,
        )
        keywords[option] = (Annotated[kind | None, information], None)

    def call(**values: Any) -> None:
        common = {key: values.pop(key) for key in _COMMON}
        _run(name, mine, {key: value for key, value in values.items() if value is not None}, **common)

    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for key, (annotation, default) in keywords.items()
        ]
    )
    call.__annotations__ = {key: annotation for key, (annotation, _) in keywords.items()}
    return call


def _run(
    name: str,
    parameters: dict[str, Any],
    given: dict[str, Any],
    *,
    manifest: list[str] | None,
    data_root: str,
    as_json: bool,
) -> None:
    from pipelines.home import dogflow_home
    from pipelines.parameters import typed_value
    from pipelines.runners.bare import run_step
    from pipelines.store import server

    if data_root:
        root = data_root if "://" in data_root else str(Path(data_root).expanduser().absolute())
    else:
        root = server.EMBEDDED_DATA_ROOT
        os.environ.update(server.environment(server.up(dogflow_home())))
    values = {
        option: typed_value(parameters[option], value) if isinstance(value, str) else value
        for option, value in given.items()
    }
    made = run_step(name, manifest or [], root, values)
    if as_json:
        typer.echo(made.to_bytes().decode())
        return
    typer.echo(f"{root}/{made.path}")
    for counter, value in made.counters.items():
        typer.echo(f"  {counter}: {value:,}")
