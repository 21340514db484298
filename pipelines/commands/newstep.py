"""`dogflow new-step`."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def new_step(
    name: Annotated[str, typer.Argument(help="A noun in lower case: the step, its folder and its column.")],
) -> None:
    """Make the files of a new step, with tests that pass at once."""
    import pipelines
    from pipelines.scaffold import step as scaffold

    root = Path(pipelines.__path__[0]).parent
    for path in scaffold.new_step(name, root):
        typer.echo(f"  {path.relative_to(root)}")
    typer.echo(f"""
Now write what it measures in components/{name}/{name}.py, say what that is in components/data/schema.py,
and add p.run({name}, dataset=data) to pipelines/curation.py. After a change of its options:
  python -m pipelines.component_source
Its tests:
  pytest tests/components/{name}""")
