"""How a pipeline is written: a function that reads top to bottom in data order.

    @pipeline(name="curation")
    def curation(p):
        "From photos with captions to scored, selected rows."
        data = p.run(ingest)
        data = p.run(captions, dataset=data)

The function runs twice: once to learn which steps it uses, from which the parameters are generated, and once
inside KFP's compiler. Nothing but `p.run` may depend on which of the two it is.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kfp import dsl
from kfp.dsl.base_component import BaseComponent

from components.data.options import StepOptions
from pipelines.parameters import (
    DATA_ROOT,
    Parameter,
    Use,
    docstring,
    kfp_type,
    nearest,
    options_model,
    parameters_of,
    signature,
)
from pipelines.resources import resources_of

# What a component gets from the pipeline and not from its options, when it has such an input.
_GIVEN = ("data_root", "code_version", "partition", "partitions")
# Outputs that show something and are not passed on.
_SHOWN = {"system.Metrics", "system.ClassificationMetrics", "system.HTML", "system.Markdown"}


@dataclass(frozen=True)
class Settings:
    """What a compilation fixes."""

    code_version: Callable[[str], str]  # of a step, by its name
    partitions: int = 1
    images: Mapping[str, str] = field(default_factory=dict)  # what to run for a component's base image
    defaults: Mapping[str, Any] = field(default_factory=dict)  # by parameter name


class Steps:
    """`p` of a pipeline function."""

    def run(
        self,
        component: BaseComponent,
        *,
        name: str = "",
        prefix: str = "",
        defaults: Mapping[str, Any] | None = None,
        **inputs: Any,
    ) -> Any:
        """Add a task and return it; pass it on as an input to hand over its result.

        `name` is the task's, the step's by default; `prefix` begins its parameters' names, `name` by default.
        `inputs` are artifacts (earlier tasks, or their `outputs[...]`), and options fixed by the pipeline.
        A component with an input `partition` becomes a parallel loop over the compiled number of partitions,
        and a merge that verifies them all.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Pipeline:
    """A pipeline function with what was learnt from it."""

    name: str
    function: Callable[[Steps], Any]
    uses: tuple[Use, ...]
    parameters: dict[str, Parameter]

    @property
    def summary(self) -> str:
        """First line of the function's docstring."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]

    @property
    def reference(self) -> str:
        """`module:attribute`, under which it can be loaded again."""
        return f"{self.function.__module__}:{self.function.__name__}"

    @property
    def models(self) -> dict[str, type[StepOptions]]:
        """Option model by prefix."""
        return {use.prefix: use.model for use in self.uses}

    @property
    def steps(self) -> list[str]:
        """Names of the steps, each once."""
        return list(dict.fromkeys(use.step for use in self.uses))

    def graph(self, settings: Settings) -> BaseComponent:
        """The pipeline as a KFP component, ready for KFP's compiler."""

        def entry(*channels: Any) -> None:
            self.function(_Compiling(dict(zip(self.parameters, channels, strict=True)), settings))

        entry.__name__ = self.name.replace("-", "_")
        entry.__doc__ = docstring(self.summary, self.parameters.values())
        entry.__signature__ = signature(self.parameters.values(), settings.defaults)  # type: ignore[attr-defined]
        return dsl.pipeline(name=self.name)(entry)


def pipeline(name: str) -> Callable[[Callable[[Any], Any]], Pipeline]:
    """Decorator: make a Pipeline of a function of `p`."""

    def decorate(function: Callable[[Any], Any]) -> Pipeline:
        learning = _Learning()
        function(learning)
        return Pipeline(name, function, tuple(learning.uses), parameters_of(learning.uses))

    return decorate


class _Learning(Steps):
    """Records which steps are used, and with which options fixed."""

    def __init__(self) -> None:
        self.uses: list[Use] = []
        self._names: set[str] = set()

    def run(
        self,
        component: BaseComponent,
        *,
        name: str = "",
        prefix: str = "",
        defaults: Mapping[str, Any] | None = None,
        **inputs: Any,
    ) -> Any:
        step, package = _step_of(component)
        model = options_model(package)
        name = name or step
        if name in self._names:
            raise ValueError(f"Two tasks are called {name!r}: give one p.run(..., name=...).")
        self._names.add(name)
        _check_interface(component, step, model)
        _check_inputs(component, step, model, inputs)
        fixed = {key: value for key, value in inputs.items() if key in model.model_fields}
        self.uses.append(Use(step, prefix or name, model, dict(defaults or {}), fixed))
        return _Unknown(name)


@dataclass(frozen=True)
class _Unknown:
    """Stands for a task while the steps are learnt."""

    name: str

    @property
    def outputs(self) -> "_Unknown":
        return self

    def __getitem__(self, key: str) -> "_Unknown":
        return self


class _Compiling(Steps):
    """Adds tasks to the KFP pipeline that is being compiled."""

    def __init__(self, channels: Mapping[str, Any], settings: Settings) -> None:
        self._channels = channels
        self._settings = settings

    def run(
        self,
        component: BaseComponent,
        *,
        name: str = "",
        prefix: str = "",
        defaults: Mapping[str, Any] | None = None,
        **inputs: Any,
    ) -> Any:
        step, package = _step_of(component)
        name = name or step
        arguments = {key: _artifact(value) for key, value in inputs.items()}
        for option in options_model(package).model_fields:
            arguments.setdefault(option, self._channels.get(f"{prefix or name}_{option}"))
        parts = self._settings.partitions
        if parts == 1 or "partition" not in (component.component_spec.inputs or {}):
            return self._task(component, step, name, arguments, -1)
        with dsl.ParallelFor(list(range(parts)), name=f"{name}-partitions") as index:
            part = self._task(component, step, name, arguments, index)
        return self._task(component, step, f"{name}-merge", arguments, -1).after(part)

    def _task(
        self, component: BaseComponent, step: str, name: str, arguments: Mapping[str, Any], partition: Any
    ) -> dsl.PipelineTask:
        given = {
            "data_root": self._channels[DATA_ROOT.name],
            "code_version": self._settings.code_version(step),
            "partition": partition,
            "partitions": self._settings.partitions,
        }
        accepted = component.component_spec.inputs or {}
        task = _named(component, name)(**{k: v for k, v in {**given, **arguments}.items() if k in accepted})
        base_image = component.component_spec.implementation.container.image
        task.set_container_image(self._settings.images.get(base_image, base_image))
        resources_of(step).apply(task)
        return task


def _step_of(component: BaseComponent) -> tuple[str, str]:
    """(step, package) of a component: (quality, components.quality) for components.quality.component."""
    package = component.python_func.__module__.rpartition(".")[0]
    return package.rpartition(".")[2], package


def _check_interface(component: BaseComponent, step: str, model: type[StepOptions]) -> None:
    """ValueError when the component's parameters are not exactly its step's options."""
    inputs = component.component_spec.inputs or {}
    have = {name: spec.type for name, spec in inputs.items() if "system." not in str(spec.type)}
    have = {name: kind for name, kind in have.items() if name not in _GIVEN}
    want = {name: kfp_type(info.annotation) for name, info in model.model_fields.items()}
    if have.keys() != want.keys():
        wrong = ", ".join(sorted(have.keys() ^ want.keys()))
        raise ValueError(f"components/{step}/component.py and its option model differ in: {wrong}.")


def _check_inputs(
    component: BaseComponent, step: str, model: type[StepOptions], inputs: Mapping[str, Any]
) -> None:
    """ValueError when p.run was given what is neither an artifact nor an option of the step."""
    known = [name for name in component.component_spec.inputs or {} if name not in _GIVEN]
    for name in inputs:
        if name not in known and name not in model.model_fields:
            raise ValueError(f"p.run({step}, ...) has no input {name}; {nearest(name, known)}")


def _named(component: BaseComponent, name: str) -> BaseComponent:
    """The component under a task name of its own: KFP names tasks after their component."""
    renamed = copy.copy(component)
    renamed.component_spec = copy.copy(component.component_spec)
    renamed.component_spec.name = name
    return renamed


def _artifact(value: Any) -> Any:
    """A task stands for its result: the one output that is not there only to be looked at."""
    if not isinstance(value, dsl.PipelineTask):
        return value
    specs = value.component_spec.outputs or {}
    results = [name for name, spec in specs.items() if str(spec.type).partition("@")[0] not in _SHOWN]
    if len(results) != 1:
        raise ValueError(f"{value.name} has the outputs {', '.join(results)}: pass task.outputs[...] of one.")
    return value.outputs[results[0]]
