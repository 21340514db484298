"""Typed step options: the one place from which CLI flags, KFP parameters and docs come."""

import difflib
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError


class OptionError(ValueError):
    """An option that does not exist or has an impossible value; the message names the fix."""


class StepOptions(BaseModel):
    """Base of every step's options.

    Fields are str, int, float, bool, Literal, list or dict, always with a plain default: KFP has no
    optional parameters, so "not set" is `""`, `-1` or `[]`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), allow_inf_nan=False)


Options = TypeVar("Options", bound=StepOptions)


def option(default: Any, help: str, *, identity: bool = True, **constraints: Any) -> Any:
    """A field of a StepOptions model.

    `identity=False` marks an option that cannot change the result (workers, device, batch size); it stays
    out of every id. `constraints` are pydantic's (`ge`, `le`, `gt`, `lt`, `min_length` ...).
    """
    return Field(default=default, description=help, json_schema_extra={"identity": identity}, **constraints)


def is_identity(model: type[StepOptions], name: str) -> bool:
    """Whether the option takes part in dataset and model ids."""
    extra = model.model_fields[name].json_schema_extra
    return bool(extra.get("identity", True)) if isinstance(extra, dict) else True


def identity_options(options: StepOptions) -> dict[str, Any]:
    """The options that take part in ids, by name."""
    model = type(options)
    return {name: value for name, value in options.model_dump().items() if is_identity(model, name)}


def parse_options(model: type[Options], values: Mapping[str, Any], *, step: str = "") -> Options:
    """Validate `values`; raises OptionError with one sentence per wrong option."""
    try:
        return model(**values)
    except ValidationError as error:
        prefix = f"{step}." if step else ""
        lines = [_sentence(prefix, model, dict(details)) for details in error.errors()]
        raise OptionError(" ".join(lines)) from None


def _sentence(prefix: str, model: type[StepOptions], details: dict[str, Any]) -> str:
    name = str(details["loc"][0]) if details["loc"] else "options"
    if details["type"] == "extra_forbidden":
        close = difflib.get_close_matches(name, model.model_fields, n=1)
        hint = f"did you mean {prefix}{close[0]}?" if close else f"known: {', '.join(model.model_fields)}."
        return f"There is no option {prefix}{name}; {hint}"
    field = model.model_fields.get(name)
    about = f" ({field.description})" if field is not None and field.description else ""
    reason = details["msg"][0].lower() + details["msg"][1:]
    return f"{prefix}{name}={details['input']!r} is not valid: {reason}.{about}"
