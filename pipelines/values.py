"""The values a run uses: defaults < profile < file < command line, each validated by its step's options."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from components.data.options import OptionError, parse_options
from pipelines.definition import Pipeline
from pipelines.parameters import DATA_ROOT, Parameter, find_parameter, nearest, typed_value
from pipelines.profiles import PROFILES


@dataclass(frozen=True)
class Values:
    """Every parameter's value and where it came from: "default", "profile", "file" or "command line"."""

    parameters: dict[str, Any]  # by KFP name
    sources: dict[str, str]  # by KFP name
    options: dict[str, dict[str, Any]]  # by prefix and option, fixed ones included


def resolve(
    pipeline: Pipeline,
    *,
    profile: str = "",
    file: Path | None = None,
    assignments: Iterable[str] = (),
    given: Mapping[str, Any] | None = None,
) -> Values:
    """All values for a run of `pipeline`.

    `assignments` are `step.option=value` as typed; `given` are values by parameter name or key that count as
    typed. Raises OptionError that names the option and the fix.
    """
    parameters = pipeline.parameters
    raw = {name: parameter.default for name, parameter in parameters.items()}
    sources = dict.fromkeys(parameters, "default")
    layers = [
        ("profile", _profile(pipeline, profile)),
        ("file", _file(file, parameters) if file else {}),
        ("command line", {find_parameter(k, parameters).name: v for k, v in (given or {}).items()}),
        ("command line", dict(_assignment(text, parameters) for text in assignments)),
    ]
    for source, values in layers:
        raw.update(values)
        sources.update(dict.fromkeys(values, source))
    return _validated(pipeline, raw, sources)


def _validated(pipeline: Pipeline, raw: Mapping[str, Any], sources: dict[str, str]) -> Values:
    for name, value in raw.items():
        if "{{$" in json.dumps(value):
            raise OptionError(
                f"{pipeline.parameters[name].key} holds '{{{{$': KFP would replace it. Leave it out."
            )
    values: dict[str, Any] = {DATA_ROOT.name: str(raw[DATA_ROOT.name])}
    options: dict[str, dict[str, Any]] = {}
    for use in pipeline.uses:
        mine = {option: raw[f"{use.prefix}_{option}"] for option in use.options}
        checked = parse_options(use.model, {**use.fixed, **mine}, step=use.prefix).model_dump()
        options[use.prefix] = checked
        values.update({f"{use.prefix}_{option}": checked[option] for option in use.options})
    return Values({name: values[name] for name in pipeline.parameters}, sources, options)


def _profile(pipeline: Pipeline, profile: str) -> dict[str, Any]:
    """The profile's values for this pipeline; an entry for a prefix goes before one for its step."""
    if not profile:
        return {}
    if profile not in PROFILES:
        raise OptionError(f"There is no profile {profile}; {nearest(profile, PROFILES)}")
    values: dict[str, Any] = {}
    for use in pipeline.uses:
        table = PROFILES[profile]
        for option, value in {**table.get(use.step, {}), **table.get(use.prefix, {})}.items():
            if option not in use.fixed:
                values[find_parameter(f"{use.prefix}.{option}", pipeline.parameters).name] = value
    return values


def _file(path: Path, parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """Values from a YAML file: `captions: {words_min: 5}` or `captions.words_min: 5`."""
    try:
        content = yaml.safe_load(path.read_text()) or {}
    except FileNotFoundError:
        raise OptionError(f"There is no file {path}: give -f a YAML file of options.") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise OptionError(f"{path} cannot be read as YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict):
        raise OptionError(f"{path} holds a {type(content).__name__}; it must map steps to options.")
    prefixes = {parameter.prefix for parameter in parameters.values()}
    flat: dict[str, Any] = {}
    for key, value in content.items():
        nested = isinstance(value, dict) and key in prefixes
        flat.update({f"{key}.{option}": v for option, v in value.items()} if nested else {str(key): value})
    return {find_parameter(key, parameters).name: value for key, value in flat.items()}


def _assignment(text: str, parameters: Mapping[str, Parameter]) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise OptionError(f"-p {text} has no '=': write -p step.option=value.")
    parameter = find_parameter(key.strip(), parameters)
    return parameter.name, typed_value(parameter, value)
