"""OpenLineage: every line is an event that the client's own classes take back, and that its rules allow.

The client's package ships no JSON schemas; its classes are generated from them, with required fields and
validators. The rules of the spec that classes cannot hold (one START, one end, times in order, URIs) are
tested by themselves.
"""

import json
from datetime import datetime
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from openlineage.client import event_v2, facet_v2
from openlineage.client.serde import Serde

from components.data.storage import open_store
from pipelines.lineage.export import export
from pipelines.lineage.graph import build

NASTY = 'a "quoted" <b>name</b>\n\N{DOG FACE}' + "x" * 10_000
FACETS = {
    "parent": facet_v2.parent_run.ParentRunFacet,
    "errorMessage": facet_v2.error_message_run.ErrorMessageRunFacet,
    "jobType": facet_v2.job_type_job.JobTypeJobFacet,
    "version": facet_v2.dataset_version_dataset.DatasetVersionDatasetFacet,
    "schema": facet_v2.schema_dataset.SchemaDatasetFacet,
    "outputStatistics": facet_v2.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
}


@pytest.fixture
def store(tmp_path):
    return open_store(str(tmp_path / "root"))


@pytest.fixture
def events(making, store):
    dataset = making.manifest("a", counters={"rows": 3}).save(store)
    model = making.manifest("m", "model", "a").save(store)
    making.manifest("s", "samples", "am").save(store)  # no run made it
    root = store.uri
    tasks = [
        making.task(
            "ingest", {}, {"result": making.artifact(dataset, root)}, parameters={"source": "/photos"}
        ),
        making.task(
            "training",
            {"dataset": making.artifact(dataset, root)},
            {"result": making.artifact(model, root)},
            name="stage1",
        ),
        making.task("sampling", {"model": making.artifact(model, root)}, {}, state="failed", error=NASTY),
        making.task("evaluation", {}, {}, state="interrupted", ended_at=""),
        making.task("captions", {}, {}, state="reused", reused_from="r0"),
        making.task("report", {}, {}, state="skipped", started_at="", ended_at=""),
    ]
    run = making.run("r1", root, *tasks, state="failed", error="it failed", pipeline="dog-breed")
    return [json.loads(line) for line in export(build([store], [run]), "openlineage").splitlines()]


def rebuilt(event):
    """The event through the client's classes, from its JSON alone; what they do not know is an error."""
    values = {key: value for key, value in event.items() if key != "schemaURL"}
    for facet_set in facet_sets(event):
        for name, facet in facet_set.items():
            rebuilt_facet(name, facet)
    values["job"] = event_v2.Job(**event["job"])
    values["inputs"] = [event_v2.InputDataset(**item) for item in event["inputs"]]
    values["outputs"] = [event_v2.OutputDataset(**item) for item in event["outputs"]]
    if "run" not in event:
        return event_v2.JobEvent(**values)
    values["run"] = event_v2.Run(**event["run"])
    values["eventType"] = event_v2.RunState(event["eventType"])
    return event_v2.RunEvent(**values)


def facet_sets(event):
    yield event.get("run", {}).get("facets", {})
    yield event["job"]["facets"]
    for dataset in [*event["inputs"], *event["outputs"]]:
        yield dataset.get("facets", {})
        yield dataset.get("inputFacets", {})
        yield dataset.get("outputFacets", {})


def rebuilt_facet(name, facet):
    assert urlsplit(facet["_producer"]).scheme and urlsplit(facet["_schemaURL"]).scheme
    if name.startswith("dogflow_"):
        return
    kind = FACETS[name]
    made = kind(
        **{key: value for key, value in facet.items() if not key.startswith("_")}, producer=facet["_producer"]
    )
    assert made._schemaURL == facet["_schemaURL"]


def test_every_event_comes_back_through_the_clients_classes(events):
    for event in events:
        made = rebuilt(event)
        assert Serde.to_dict(made) == event
        UUID(event["run"]["runId"]) if "run" in event else None
        assert datetime.fromisoformat(event["eventTime"]).tzinfo is not None


def test_each_run_starts_once_and_ends_once_in_that_order(events):
    states = {}
    for event in events:
        if "run" in event:
            states.setdefault((event["job"]["name"], event["run"]["runId"]), []).append(event["eventType"])
    assert {name: found for (name, _), found in states.items()} == {
        "dog-breed": ["START", "FAIL"],
        "dog-breed.ingest": ["START", "COMPLETE"],
        "dog-breed.stage1": ["START", "COMPLETE"],
        "dog-breed.sampling": ["START", "FAIL"],
        "dog-breed.evaluation": ["START", "ABORT"],
    }
    times = [datetime.fromisoformat(event["eventTime"]) for event in events]
    assert times == sorted(times)


def test_tasks_belong_to_their_pipelines_run(events):
    run = next(event["run"]["runId"] for event in events if event["job"]["name"] == "dog-breed")
    tasks = [event for event in events if event["job"]["name"].startswith("dog-breed.")]
    assert {event["run"]["facets"]["parent"]["run"]["runId"] for event in tasks} == {run}


def test_inputs_and_outputs_join_tasks_by_the_same_names(events, store):
    def ended(name):
        return next(e for e in events if e["job"]["name"] == name and e.get("eventType") == "COMPLETE")

    def named(items):
        return [(item["namespace"], item["name"]) for item in items]

    ingest, stage = ended("dog-breed.ingest"), ended("dog-breed.stage1")
    assert named(ingest["inputs"]) == [("dogflow", "source:" + "a" * 16)]
    assert ingest["inputs"][0]["facets"]["dogflow_artifact"]["uris"] == ["/photos"]
    assert named(ingest["outputs"]) == named(stage["inputs"])
    path = store.locate(f"dogs/manifests/ingest-{'a' * 16}.json").removeprefix("file://")
    assert named(ingest["outputs"]) == [("file", path)]
    assert ingest["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 3
    assert ingest["outputs"][0]["facets"]["version"]["datasetVersion"] == "a" * 16


def test_what_no_run_made_is_a_job_without_a_run(events):
    (job,) = [event for event in events if "run" not in event]
    assert job["job"]["name"] == "step.samples"
    assert job["schemaURL"].endswith("/JobEvent")
    assert [item["facets"]["version"]["datasetVersion"][0] for item in job["inputs"]] == ["a", "m"]


def test_hostile_errors_stay_text_on_one_line(events):
    (event,) = [e for e in events if e["job"]["name"] == "dog-breed.sampling" and e["eventType"] == "FAIL"]
    assert event["run"]["facets"]["errorMessage"]["message"] == NASTY


def test_the_same_graph_gives_the_same_text(making, store):
    making.manifest("a").save(store)
    assert export(build([store]), "openlineage") == export(build([store]), "openlineage")
