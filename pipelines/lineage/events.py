"""The graph as OpenLineage events, one JSON object a line, as its file transport writes and others read.

Each task of a run gives a START event and, once it ended, a COMPLETE, FAIL or ABORT one; a run gives the same
for its pipeline, which is its tasks' parent. What no known run made gives a JobEvent: the job, without a run.
An artifact is a dataset in the namespace of its data root, named by its manifest's path, which holds its id.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from openlineage.client.event_v2 import (
    BaseEvent,
    InputDataset,
    Job,
    JobEvent,
    OutputDataset,
    Run,
    RunEvent,
    RunState,
)
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    RunFacet,
    dataset_version_dataset,
    error_message_run,
    job_type_job,
    output_statistics_output_dataset,
    parent_run,
    schema_dataset,
)
from openlineage.client.serde import Serde

from components.data.schema import COLUMNS
from pipelines.lineage.graph import RUN, SOURCE, Graph, Node

NAMESPACE = "dogflow"
ENDS = {"succeeded": RunState.COMPLETE, "failed": RunState.FAIL, "interrupted": RunState.ABORT}


def to_openlineage(graph: Graph) -> str:
    """JSON lines, ordered by time."""
    producer = f"urn:dogflow:{version('dogflow')}"
    events = sorted(_Events(graph, producer).all(), key=lambda event: _moment(event.eventTime))
    return "".join(_line(event) + "\n" for event in events)


def _line(event: BaseEvent) -> str:
    return json.dumps(Serde.to_dict(event), sort_keys=True, ensure_ascii=False, allow_nan=False)


def _moment(time: str) -> datetime:
    moment = datetime.fromisoformat(time)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class _Events:
    def __init__(self, graph: Graph, producer: str) -> None:
        self.graph, self.producer = graph, producer

    def all(self) -> Iterator[BaseEvent]:
        for node in self.graph.nodes.values():
            if node.kind == RUN:
                yield from self._of_run(node)
            elif node.id in self.graph.manifests and not node.made_by:
                yield self._of_artifact(node)

    def _of_run(self, node: Node) -> Iterator[BaseEvent]:
        details = node.details
        run, job = _run_id(node.name), Job(NAMESPACE, node.step, {"jobType": self._job_type("DAG")})
        facet = self._run_facet(
            options=node.options, code_versions=details["code_versions"], profile=details["profile"]
        )
        yield from self._pair(run, job, {"dogflow_run": facet}, details, [], [])
        parent = parent_run.ParentRunFacet(
            parent_run.Run(run), parent_run.Job(NAMESPACE, node.step), producer=self.producer
        )
        for task in details["tasks"]:
            if task["state"] == "reused":  # another run did it, and says so itself
                continue
            code_version = details["code_versions"].get(task["step"], "")
            facets = {
                "parent": parent,
                "dogflow_task": self._run_facet(
                    dogflow_run=node.name, code_version=code_version, attempts=task["attempts"]
                ),
            }
            name = f"{node.step}.{task['name']}"
            inputs = [self.graph.nodes[id] for id in task["inputs"].values()]
            outputs = [self.graph.nodes[id] for id in task["outputs"].values()]
            if not inputs:  # only steps without inputs read raw files
                inputs = [up for one in outputs for up in self.graph.parents(one.id) if up.kind == SOURCE]
            yield from self._pair(
                _run_id(f"{node.name}/{task['name']}"),
                Job(NAMESPACE, name, {"jobType": self._job_type("TASK")}),
                facets,
                task,
                inputs,
                outputs,
            )

    def _pair(
        self,
        run: str,
        job: Job,
        facets: Mapping[str, RunFacet],
        times: Mapping[str, Any],
        inputs: list[Node],
        outputs: list[Node],
    ) -> Iterator[RunEvent]:
        """START, and the end if there was one. Nothing for a task that never started."""
        if not times["started_at"]:
            return
        sources = [self._input(node) for node in inputs]
        yield RunEvent(
            eventTime=times["started_at"],
            producer=self.producer,
            eventType=RunState.START,
            run=Run(run, dict(facets)),
            job=job,
            inputs=sources,
        )
        end = ENDS.get(times["state"])
        if end is None:
            return
        if times["error"]:
            message = error_message_run.ErrorMessageRunFacet(
                times["error"], programmingLanguage="python", producer=self.producer
            )
            facets = {**facets, "errorMessage": message}
        yield RunEvent(
            # A process that was killed could not note when.
            eventTime=times["ended_at"] or times["started_at"],
            producer=self.producer,
            eventType=end,
            run=Run(run, dict(facets)),
            job=job,
            inputs=sources,
            outputs=[self._output(node) for node in outputs],
        )

    def _of_artifact(self, node: Node) -> JobEvent:
        return JobEvent(
            eventTime=self.graph.manifests[node.id].written_at,
            producer=self.producer,
            job=Job(NAMESPACE, f"step.{node.step}", {"jobType": self._job_type("TASK")}),
            inputs=[self._input(up) for up in self.graph.parents(node.id)],
            outputs=[self._output(node)],
        )

    def _input(self, node: Node) -> InputDataset:
        return InputDataset(*_name(node), facets=self._facets(node))

    def _output(self, node: Node) -> OutputDataset:
        statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
            rowCount=int(node.counters["rows"]) if "rows" in node.counters else None,
            size=sum(group.bytes for group in node.groups) or None,
            fileCount=sum(group.files for group in node.groups) or len(node.files) or None,
            producer=self.producer,
        )
        return OutputDataset(
            *_name(node), facets=self._facets(node), outputFacets={"outputStatistics": statistics}
        )

    def _facets(self, node: Node) -> dict[str, DatasetFacet]:
        facet = DatasetFacet(producer=self.producer).with_additional_properties(
            kind=node.kind,
            step=node.step,
            code_version=node.code_version,
            options=dict(node.options),
            counters=dict(node.counters),
            policies={group.name: dict(group.policy) for group in node.groups},
            uris=list(node.uris),
            found=node.found,
        )
        facets: dict[str, DatasetFacet] = {
            "dogflow_artifact": facet,  # type: ignore[dict-item]
            "version": dataset_version_dataset.DatasetVersionDatasetFacet(node.id, producer=self.producer),
        }
        columns = list(dict.fromkeys(name for group in node.groups for name in group.columns))
        if columns:
            facets["schema"] = schema_dataset.SchemaDatasetFacet(
                [_field(name) for name in columns], producer=self.producer
            )
        return facets

    def _run_facet(self, **properties: Any) -> RunFacet:
        return RunFacet(producer=self.producer).with_additional_properties(**properties)  # type: ignore[return-value]

    def _job_type(self, kind: str) -> JobFacet:
        return job_type_job.JobTypeJobFacet("BATCH", "DOGFLOW", jobType=kind, producer=self.producer)


def _field(name: str) -> schema_dataset.SchemaDatasetFacetFields:
    column = COLUMNS.get(name)
    if column is None:  # of a step that this dogflow does not have
        return schema_dataset.SchemaDatasetFacetFields(name)
    return schema_dataset.SchemaDatasetFacetFields(name, type=str(column.type), description=column.help)


def _name(node: Node) -> tuple[str, str]:
    """(namespace, name): bucket and key of the manifest, `file` and its path, or the id without a place.

    Raw files are known by the dataset that was made of them: what lay in their folder may have changed since.
    """
    if node.kind == SOURCE or not node.uris:
        return NAMESPACE, node.id
    scheme, _, rest = node.uris[0].partition("://")
    if not rest:
        return "file", node.uris[0]
    if scheme == "file":
        return "file", rest
    bucket, _, key = rest.partition("/")
    return f"{scheme}://{bucket}", key


def _run_id(name: str) -> str:
    """OpenLineage knows runs by UUID: the same for the same run, whoever exports it."""
    return str(uuid5(NAMESPACE_URL, f"dogflow:{name}"))
