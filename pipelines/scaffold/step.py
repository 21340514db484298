"""Makes the files of a new step, which runs and whose tests pass at once."""

import importlib
import keyword
import re
import sys
from pathlib import Path
from string import Template

TEMPLATES = Path(__file__).parent
_IMPORTS = re.compile(r"(^from components\..+\n)+", re.MULTILINE)
_NAME = re.compile(r"[a-z][a-z0-9_]{1,30}")


class ScaffoldError(ValueError):
    """A step that cannot be made; the message names the fix."""


def new_step(name: str, root: Path) -> list[Path]:
    """Write the step `name` into the checkout at `root`; returns the files, the changed schema.py last.

    Raises ScaffoldError for a name that is taken or no Python name, and outside a checkout.
    """
    schema = root / "components" / "data" / "schema.py"
    _check(name, root, schema)
    folder, tests = root / "components" / name, root / "tests" / "components" / name
    texts = {
        folder / "__init__.py": "",
        folder / "options.py": _fill("options", name),
        folder / f"{name}.py": _fill("noun", name),
        folder / "step.py": _fill("step", name),
        folder / "README.md": _fill("readme", name),
        tests / f"test_{name}.py": _fill("test_noun", name),
        tests / f"test_{name}_step.py": _fill("test_step", name),
    }
    with_columns = _with_columns(schema.read_text(), name)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    schema.write_text(with_columns)
    component = folder / "component.py"
    component.write_text(_component(name))
    return [*texts, component, schema]


def _check(name: str, root: Path, schema: Path) -> None:
    if not schema.is_file() or not (root / "tests").is_dir():
        raise ScaffoldError(
            f"{root} is no checkout of dogflow: run new-step in one, with `pip install -e .`."
        )
    if not _NAME.fullmatch(name) or keyword.iskeyword(name) or name in sys.stdlib_module_names:
        raise ScaffoldError(
            f"{name!r} cannot name a step: use a noun in lower case, such as brightness or tail_visible."
        )
    if (root / "components" / name).exists():
        raise ScaffoldError(f"components/{name} exists already: choose another name.")


def _fill(template: str, name: str) -> str:
    title = "".join(part.capitalize() for part in name.split("_"))
    text = Template((TEMPLATES / f"{template}.txt").read_text()).substitute(name=name, title=title)
    return _IMPORTS.sub(lambda block: "".join(sorted(block[0].splitlines(keepends=True), key=_module)), text)


def _module(line: str) -> str:
    """What an import line is sorted by."""
    return line.split()[1]


def _with_columns(schema: str, name: str) -> str:
    """The schema with the step's columns, before those of selection, which applies thresholds to them."""
    mark = '    Column("keep", '
    if schema.count(mark) != 1:
        raise ScaffoldError(f"schema.py has no line {mark.strip()}...: add the columns of {name} by hand.")
    columns = (
        f'    Column("{name}", pa.float32(), "{name}", "what it is, with its range"),\n'
        f'    Column("{name}_error", pa.string(), "{name}", "why the row has no score"),\n'
    )
    return schema.replace(mark, columns + mark)


def _component(name: str) -> str:
    from pipelines.component_source import component_source

    importlib.invalidate_caches()
    return component_source(name)
