"""The text of a step's component.py, from its options: KFP reads a component's signature from source code.

`python -m pipelines.component_source` writes the component.py of every step; a test compares them.
"""

import importlib
import json
from pathlib import Path
from typing import Any

from pipelines.parameters import kfp_type, options_model

ROOT = Path(__file__).resolve().parents[1] / "components"

TEMPLATE = '''"""KFP component of the {step} step; pipelines/component_source.py wrote it from options.py."""

from kfp import dsl


@dsl.component(base_image="{image}", install_kfp_package=False, packages_to_install=[])
def {step}(
{parameters}
):
    """{summary}

    Args:
{help}
    """
    from components.data.task import run_component

    run_component("{step}", locals())
'''

_GIVEN_HELP = {
    "result": "Manifest of what the step made.",
    "metrics": "Counters of the step.",
    "data_root": "Where shards and manifests lie.",
    "code_version": "Code the pipeline was compiled for; the step refuses to run as another.",
    "partition": "Share of the shards to work on, or -1 for all.",
    "partitions": "Number of shares.",
}


def steps() -> list[str]:
    """Names of all steps: the folders with a step.py."""
    return sorted(path.parent.name for path in ROOT.glob("*/step.py"))


def component_source(step: str) -> str:
    """Text of components/<step>/component.py."""
    module = importlib.import_module(f"components.{step}.step")
    model = options_model(f"components.{step}")
    kinds: dict[str, str] = getattr(module, "INPUT_KINDS", {})
    parameters = [f"    {name}: dsl.Input[dsl.{kinds.get(name, 'Dataset')}]," for name in module.INPUTS]
    result_kind = getattr(module, "RESULT_KIND", "Dataset")
    parameters.append(f"    result: dsl.Output[dsl.{result_kind}],")
    parameters.append("    metrics: dsl.Output[dsl.Metrics],")
    parameters.extend(["    data_root: str,", "    code_version: str,"])
    if getattr(module, "SPLIT", False):
        parameters.extend(["    partition: int = -1,", "    partitions: int = 1,"])
    help_lines = {name: f"Manifest of the {name} to work on." for name in module.INPUTS} | _GIVEN_HELP
    if result_kind == "HTML":
        help_lines["result"] = "The page itself, as KFP shows it."
    for name, field in model.model_fields.items():
        default = field.get_default(call_default_factory=True)
        kind = kfp_type(field.annotation)
        parameters.append(f"    {name}: {kind.__name__} = {_literal(default)},")
        help_lines[name] = _sentence(field.description or "")
    present = {line.strip().partition(":")[0] for line in parameters}
    return TEMPLATE.format(
        step=step,
        image=getattr(module, "IMAGE", "dogflow-curate"),
        parameters="\n".join(parameters),
        summary=(module.__doc__ or "").strip().partition("\n")[0],
        help="\n".join(f"        {name}: {text}" for name, text in help_lines.items() if name in present),
    )


def _literal(value: Any) -> str:
    # Double quotes, as the formatter has them; JSON and Python agree on strings and lists of strings.
    text = isinstance(value, str) or (isinstance(value, list) and all(isinstance(v, str) for v in value))
    return json.dumps(value, ensure_ascii=False) if text else repr(value)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def write_all() -> list[Path]:
    """Write every step's component.py that is not up to date; returns those written."""
    written = []
    for step in steps():
        path = ROOT / step / "component.py"
        source = component_source(step)
        if not path.is_file() or path.read_text() != source:
            path.write_text(source)
            written.append(path)
    return written


if __name__ == "__main__":
    for written_path in write_all():
        print(f"wrote {written_path.relative_to(ROOT.parent)}")
