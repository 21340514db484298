"""What pipelines compile to."""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from google.protobuf import json_format
from kfp.pipeline_spec.pipeline_spec_pb2 import PipelineSpec

from pipelines.catalog import PipelineError, known_pipelines
from pipelines.compile import load, settings, task_names, to_ir
from pipelines.definition import pipeline

GOLDEN_SCRIPT = Path(__file__).parents[1] / "golden" / "make_ir.py"


def golden():
    spec = importlib.util.spec_from_file_location("make_ir", GOLDEN_SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(found, **changes):
    chosen = replace(settings(), code_version=lambda step: f"code-of-{step}", **changes)
    return to_ir(found, chosen)


def parsed(text):
    return yaml.safe_load(text.partition("\n---")[0])


def test_the_same_pipeline_compiles_to_the_same_bytes(toy):
    assert compiled(toy, partitions=3) == compiled(toy, partitions=3)


@pytest.mark.parametrize("name", known_pipelines())
@pytest.mark.parametrize("partitions", golden().PARTITIONS)
def test_ir_is_the_golden_one(name, partitions):
    script = golden()
    expected = script.path_of(name, partitions).read_text()
    assert script.golden_ir(name, partitions) == expected, "python tests/golden/make_ir.py writes it anew"


@pytest.mark.parametrize("reference", [*known_pipelines(), "toy_pipelines:toy", "toy_pipelines:twice"])
def test_ir_holds_what_a_cluster_needs_and_nothing_it_must_not(reference, toys):
    text = compiled(load(reference), partitions=2)
    ir = parsed(text)
    json_format.ParseDict(ir, PipelineSpec())  # unknown fields raise
    for word in ("cacheKey", "cache_key", "AWS_", "SECRET", "Optional[", "None"):
        assert word not in text
    executors = ir["deploymentSpec"]["executors"]
    for name, executor in executors.items():
        resources = executor["container"]["resources"]
        assert {"resourceCpuRequest", "resourceMemoryRequest", "resourceMemoryLimit"} <= resources.keys(), (
            name
        )
        assert "pip install" not in " ".join(executor["container"]["command"])
    containers = {name for name, component in ir["components"].items() if "executorLabel" in component}
    for component in [ir["root"], *ir["components"].values()]:
        for task in component.get("dag", {}).get("tasks", {}).values():
            if task["componentRef"]["name"] in containers:
                assert task["inputs"]["parameters"]["code_version"]["runtimeValue"]["constant"]
                assert task["retryPolicy"]["maxRetryCount"] > 0
        for spec in component.get("inputDefinitions", {}).get("parameters", {}).values():
            assert not (spec.get("isOptional") and "defaultValue" not in spec)


def test_each_option_is_an_input_with_its_help(toy):
    inputs = parsed(compiled(toy))["root"]["inputDefinitions"]["parameters"]
    assert list(toy.parameters) == [
        "data_root",
        "photos_rows",
        "photos_words",
        "photos_weights",
        "photos_note",
        "marks_threshold",
        "marks_strategy",
        "marks_behave",
    ]
    assert inputs.keys() == toy.parameters.keys()
    assert inputs["photos_rows"]["description"] == "How many rows."
    assert inputs["photos_rows"]["defaultValue"] == 3
    assert inputs["photos_words"]["defaultValue"] == ["sit", "stay"]


def test_defaults_of_the_compilation_replace_those_of_the_options(toy):
    inputs = parsed(compiled(toy, defaults={"photos_rows": 8}))["root"]["inputDefinitions"]["parameters"]
    assert inputs["photos_rows"]["defaultValue"] == 8


def test_a_split_step_becomes_a_loop_and_a_merge_after_it(toy):
    ir = parsed(compiled(toy, partitions=3))
    tasks = ir["root"]["dag"]["tasks"]
    merge = tasks["marks-merge"]
    (loop,) = [name for name in tasks if name.startswith("for-loop")]
    assert loop in merge["dependentTasks"]
    assert merge["inputs"]["parameters"]["partition"]["runtimeValue"]["constant"] == -1
    assert merge["inputs"]["parameters"]["partitions"]["runtimeValue"]["constant"] == 3
    assert tasks[loop]["parameterIterator"]["items"]["raw"] == "[0, 1, 2]"
    assert task_names(ir) == [
        ("photos", "photos"),
        ("marks.0", "marks"),
        ("marks.1", "marks"),
        ("marks.2", "marks"),
        ("marks-merge", "marks"),
    ]


def test_one_partition_makes_no_loop(toy):
    assert task_names(parsed(compiled(toy))) == [("photos", "photos"), ("marks", "marks")]


def test_a_step_used_twice_has_two_tasks_and_two_sets_of_inputs(twice):
    ir = parsed(compiled(twice))
    assert task_names(ir) == [("photos", "photos"), ("first", "marks"), ("second", "marks")]
    tasks, inputs = ir["root"]["dag"]["tasks"], ir["root"]["inputDefinitions"]["parameters"]
    assert tasks["first"]["inputs"]["parameters"]["strategy"]["runtimeValue"]["constant"] == "centre"
    assert tasks["second"]["inputs"]["parameters"]["strategy"]["componentInputParameter"] == "second_strategy"
    assert tasks["second"]["inputs"]["artifacts"]["dataset"]["taskOutputArtifact"]["producerTask"] == "first"
    assert "first_strategy" not in inputs
    assert (inputs["first_threshold"]["defaultValue"], inputs["second_threshold"]["defaultValue"]) == (
        0.5,
        0.25,
    )
    assert inputs["photos_rows"]["defaultValue"] == 5


def test_images_are_chosen_by_base_image(toy):
    executors = parsed(compiled(toy, images={"dogflow-train": "registry/train:1a2b"}))["deploymentSpec"][
        "executors"
    ]
    assert executors["exec-marks"]["container"]["image"] == "registry/train:1a2b"
    assert executors["exec-photos"]["container"]["image"] == "dogflow-curate"


def test_a_component_that_lacks_an_option_is_refused(toys, monkeypatch):
    from toy_steps.marks.component import marks
    from toy_steps.photos import options

    monkeypatch.setattr("pipelines.definition.options_model", lambda package: options.OPTIONS)
    with pytest.raises(ValueError, match=r"components/marks/component\.py .* differ in: behave, note"):
        pipeline(name="wrong")(lambda p: p.run(marks))


def test_two_tasks_of_one_name_are_refused(toys):
    from toy_steps.photos.component import photos

    def body(p):
        p.run(photos)
        p.run(photos)

    with pytest.raises(ValueError, match="Two tasks are called 'photos'"):
        pipeline(name="wrong")(body)


def test_an_input_that_a_step_does_not_have_is_refused(toys):
    from toy_steps.marks.component import marks
    from toy_steps.photos.component import photos

    with pytest.raises(
        ValueError, match=r"p\.run\(marks, \.\.\.\) has no input datasets; did you mean dataset"
    ):
        pipeline(name="wrong")(lambda p: p.run(marks, datasets=p.run(photos)))


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("curatoin", "There is no pipeline curatoin"),
        ("no_such_module:it", "cannot be imported"),
        ("toy_pipelines:nothing", "has no pipeline nothing"),
    ],
)
def test_an_unknown_pipeline_is_an_error(toys, reference, message):
    with pytest.raises(PipelineError, match=message):
        load(reference)


@pytest.mark.parametrize("partitions", [0, 65])
def test_impossible_partitions_are_an_error(partitions):
    with pytest.raises(ValueError, match="use 1 to 64"):
        settings(partitions=partitions)


def test_compiling_imports_no_model_library(toys):
    references = [*known_pipelines(), "toy_pipelines:toy"]
    code = f"""
import json, sys
import toy_dogflow
from pipelines.compile import load, settings, to_ir
for reference in {references!r}:
    to_ir(load(reference), settings(partitions=2))
print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True, env=os.environ
    )
    loaded = set(json.loads(done.stdout))
    assert "kfp" in loaded
    assert not loaded & {
        "torch",
        "torchvision",
        "cv2",
        "open_clip",
        "segment_anything",
        "transformers",
        "diffusers",
    }
