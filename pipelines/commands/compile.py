"""`dogflow compile`."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def compile(
    pipeline: Annotated[str, typer.Argument(help="Its name, or module:attribute of your own.")] = "dog_breed",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write; - prints.", show_default="<name>.yaml")
    ] = None,
    profile: Annotated[str, typer.Option(help="Profile whose values become the inputs' defaults.")] = "",
    assignments: Annotated[
        list[str] | None, typer.Option("-p", "--param", help="step.option=value as an input's default.")
    ] = None,
    partitions: Annotated[int, typer.Option(help="Parallel tasks of each scoring step.")] = 1,
    images: Annotated[
        list[str] | None,
        typer.Option(
            "--image", help="base=reference, such as dogflow-curate=registry/dogflow-curate:1a2b3c."
        ),
    ] = None,
) -> None:
    """Compile a pipeline to Kubeflow Pipelines YAML."""
    from pipelines import compile as compiling
    from pipelines.values import resolve

    loaded = compiling.load(pipeline)
    values = resolve(loaded, profile=profile, assignments=assignments or [])
    settings = compiling.settings(
        partitions=partitions, images=dict(_image(text) for text in images or []), defaults=values.parameters
    )
    if out is not None and str(out) == "-":
        typer.echo(compiling.to_ir(loaded, settings), nl=False)
        return
    target = out or Path(f"{loaded.name}.yaml")
    compiling.write_ir(loaded, settings, target)
    typer.echo(f"Wrote {target}: {len(loaded.steps)} steps, {len(loaded.parameters)} inputs.")


def _image(text: str) -> tuple[str, str]:
    base, equals, reference = text.partition("=")
    if not equals or not reference:
        raise typer.BadParameter(f"--image {text} has no reference: write base=registry/name:tag.")
    return base, reference
