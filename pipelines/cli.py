"""The `dogflow` command: a table of commands, each imported when it is called.

`dogflow --help` therefore costs a Python start and Typer, and no library of the pipeline.
"""

import importlib
import os
import sys
import traceback
from contextvars import ContextVar
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

# name -> (module with the Typer object `app`, help)
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("pipelines.commands.demo", "The whole pipeline on synthetic dogs with planted defects."),
    "run": ("pipelines.commands.run", "Run a pipeline on your photos."),
    "compile": ("pipelines.commands.compile", "Compile a pipeline to Kubeflow Pipelines YAML."),
    "step": ("pipelines.commands.step", "Run one step on a manifest, without KFP."),
    "rerun": ("pipelines.commands.rerun", "Run a task of an earlier run again, with that run's inputs."),
    "diff": (
        "pipelines.commands.diff",
        "What differs between two runs, and which photos came and went.",
    ),
    "runs": ("pipelines.commands.runs", "List runs, or show one."),
    "lineage": (
        "pipelines.lineage.cli",
        "Where things come from, and what they went into.",
    ),
    "weights": ("pipelines.weights.cli", "Model weights: list, pull, verify."),
    "store": ("pipelines.store.cli", "The embedded S3 server: up, down, status."),
    "bench": ("pipelines.bench.cli", "Measure the promised figures on this machine."),
    "new-step": ("pipelines.commands.newstep", "Make the files of a new step, with tests that pass at once."),
    "doctor": ("pipelines.commands.doctor", "Check this machine: libraries, memory, devices, storage."),
}
_verbose: ContextVar[bool] = ContextVar("verbose", default=False)
_OUR_PACKAGES = ("components.", "pipelines.")
_USAGE_ERRORS = {"OptionError", "PipelineError"}


class _Lazy(TyperCommand):
    """Stands in the help for a command whose module is not imported yet."""

    def __init__(self, name: str, module: str, help: str) -> None:
        super().__init__(name, help=help, add_help_option=False)
        self._module = module

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Import the real command, which takes over from here."""
        command = typer.main.get_command(importlib.import_module(self._module).app)
        command.name = self.name
        # Completion is installed for dogflow as a whole.
        command.params = [
            p for p in command.params if p.name not in ("install_completion", "show_completion")
        ]
        return command.make_context(info_name, args, parent, **extra)


class _Root(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, (module, text) in COMMANDS.items():
            self.add_command(_Lazy(name, module, text))


app = typer.Typer(
    name="dogflow",
    cls=_Root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"dogflow {version('dogflow')}")
        raise typer.Exit


@app.callback()
def root(
    verbose: Annotated[bool, typer.Option("--verbose", help="Show tracebacks of errors.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Raw dog photos with captions in, a text-to-image model that gets breeds right out."""
    _verbose.set(verbose)


def main(arguments: list[str] | None = None) -> int:
    """Run a command line; returns the exit code: 0, 1 for failures, 2 for wrong usage, 130 after Ctrl-C."""
    _verbose.set(False)
    # Threads that spin while they wait make small models up to 40 times slower as soon as anything else runs
    # on the machine. Read by the OpenMP library when torch is loaded, and inherited by every task.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        result = app(arguments, prog_name="dogflow", standalone_mode=False)
    except typer.Abort:
        return 130
    except typer.TyperException as error:
        return _wrong_usage(error)
    except BrokenPipeError:
        # The reader of a pipe went away (`dogflow runs | head`); nothing is left to tell it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        return _failed(error)
    return result if isinstance(result, int) else 0


def _wrong_usage(error: typer.TyperException) -> int:
    if type(error).__name__ != "NoArgsIsHelpError":
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "dogflow"
        message = error.format_message()
        end = "" if message.endswith((".", "?", "!")) else "."
        print(f"error: {message}{end} See `{command} --help`.", file=sys.stderr)
    return error.exit_code


def _failed(error: Exception) -> int:
    """One sentence for errors that were written for users; for others, what they are."""
    if _verbose.get():
        traceback.print_exception(error)
    kinds = {kind.__name__ for kind in type(error).__mro__}
    ours = isinstance(error, (ValueError, OSError)) or type(error).__module__.startswith(_OUR_PACKAGES)
    text = str(error) if ours and str(error) else f"{type(error).__name__}: {error}"
    hint = "" if ours or _verbose.get() else " (dogflow --verbose ... shows where)"
    print(f"error: {text}{hint}", file=sys.stderr)
    return 2 if kinds & _USAGE_ERRORS else 1


if __name__ == "__main__":
    sys.exit(main())
