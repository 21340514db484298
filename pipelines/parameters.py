"""Pipeline parameters, generated from the steps' option models.

A step's option `words_min` of `captions` is the pipeline parameter `captions_words_min`, and
`captions.words_min` on the command line. Its type, default and help come from the option model and nowhere
else.
"""

import difflib
import importlib
import inspect
import json
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from components.data.options import OptionError, StepOptions, is_identity


@dataclass(frozen=True)
class Use:
    """One use of a step in a pipeline.

    `prefix` begins the names of its parameters; it is the step's name unless the step is used more than once.
    `defaults` replace the model's defaults and can be overridden; `fixed` options are constants of the
    pipeline and no parameters.
    """

    step: str
    prefix: str
    model: type[StepOptions]
    defaults: Mapping[str, Any]
    fixed: Mapping[str, Any]

    @property
    def options(self) -> list[str]:
        """Names of the options that are parameters."""
        return [name for name in self.model.model_fields if name not in self.fixed]


@dataclass(frozen=True)
class Parameter:
    """One pipeline parameter. `option` is empty for those that belong to the whole pipeline."""

    name: str
    prefix: str
    option: str
    type: type
    default: Any
    help: str
    identity: bool = True

    @property
    def key(self) -> str:
        """Its name on the command line and in parameter files."""
        return f"{self.prefix}.{self.option}" if self.option else self.name


DATA_ROOT = Parameter(
    name="data_root",
    prefix="",
    option="",
    type=str,
    default="",
    help="Where shards and manifests lie: s3://bucket/prefix, file:///folder or a path that every task sees.",
    identity=False,
)


def options_model(package: str) -> type[StepOptions]:
    """The option model of the step in `package` (such as `components.quality`).

    It lies in a module of its own, options.py, so that compiling never imports what the step computes with.
    """
    return importlib.import_module(f"{package}.options").OPTIONS


def parameters_of(uses: Sequence[Use]) -> dict[str, Parameter]:
    """Every parameter of a pipeline by name, in the order of its steps.

    Uses that share a prefix share their parameters; ValueError when they disagree on model or defaults.
    """
    found = {DATA_ROOT.name: DATA_ROOT}
    seen: dict[str, Use] = {}
    for use in uses:
        first = seen.setdefault(use.prefix, use)
        if (first.model, first.defaults) != (use.model, use.defaults):
            raise ValueError(
                f"Two uses of prefix {use.prefix!r} have other options or defaults: name one anew."
            )
        for option in use.options:
            parameter = _parameter(use, option)
            if found.setdefault(parameter.name, parameter) != parameter:
                raise ValueError(f"Two options make the parameter {parameter.name}: rename one of the steps.")
    return found


def _parameter(use: Use, option: str) -> Parameter:
    field = use.model.model_fields[option]
    default = use.defaults.get(option, field.get_default(call_default_factory=True))
    if default is None:
        raise ValueError(f'{use.step}.{option} has the default None: KFP needs a sentinel such as "" or -1.')
    return Parameter(
        name=f"{use.prefix}_{option}",
        prefix=use.prefix,
        option=option,
        type=kfp_type(field.annotation),
        default=default,
        help=field.description or "",
        identity=is_identity(use.model, option),
    )


def kfp_type(annotation: Any) -> type:
    """The KFP parameter type (str, int, float, bool, list, dict) that carries values of an option's type."""
    origin = get_origin(annotation) or annotation
    if origin is Literal:
        kinds = {type(value) for value in get_args(annotation)}
        if len(kinds) == 1:
            return kinds.pop()
    elif origin is typing.Annotated:
        return kfp_type(get_args(annotation)[0])
    elif origin not in (UnionType, typing.Union) and isinstance(origin, type):
        if issubclass(origin, (list, tuple)):
            return list
        for kind in (bool, int, float, str, dict):
            if issubclass(origin, kind):
                return kind
    raise ValueError(f"{annotation} cannot be a KFP parameter: use str, int, float, bool, list or dict.")


def signature(parameters: Iterable[Parameter], values: Mapping[str, Any]) -> inspect.Signature:
    """The signature KFP reads a pipeline's inputs from; `values` replace defaults, by parameter name."""
    return inspect.Signature(
        [
            inspect.Parameter(
                parameter.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=parameter.type,
                default=values.get(parameter.name, parameter.default),
            )
            for parameter in parameters
        ]
    )


def docstring(summary: str, parameters: Iterable[Parameter]) -> str:
    """A docstring from which KFP takes the pipeline's description and each input's help."""
    lines = [f"    {parameter.name}: {' '.join(parameter.help.split())}" for parameter in parameters]
    return "\n".join([summary, "", "Args:", *lines])


def nearest(key: str, known: Iterable[str]) -> str:
    """The end of an error message about an unknown name: the closest known one, or all of them."""
    known = list(known)
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]}?"
    return f"known: {', '.join(known)}." if len(known) <= 40 else "see --help for those there are."


def find_parameter(key: str, parameters: Mapping[str, Parameter]) -> Parameter:
    """The parameter named by `step.option` or `step_option`; OptionError that names the nearest one."""
    keys = {parameter.key: parameter for parameter in parameters.values()}
    found = keys.get(key) or parameters.get(key)
    if found is not None:
        return found
    prefix = key.partition(".")[0]
    within = [name for name in keys if name.startswith(f"{prefix}.")]
    raise OptionError(f"There is no option {key}; {nearest(key, within or keys)}")


def typed_value(parameter: Parameter, text: str) -> Any:
    """Text as the option's model takes it: lists as JSON or with commas, tables as JSON, others as is."""
    if parameter.type is list and not text.lstrip().startswith("["):
        return [item.strip() for item in text.split(",") if item.strip()]
    if parameter.type in (list, dict):
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise OptionError(f"{parameter.key}={text!r} is not valid JSON: {error}.") from None
    return text
