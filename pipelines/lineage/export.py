"""The graph as text for other programs."""

from collections.abc import Callable, Mapping

from pipelines.lineage.dot import to_dot
from pipelines.lineage.graph import Graph, LineageError
from pipelines.lineage.plain import graph_json
from pipelines.runs.record import to_json


def export(graph: Graph, format: str) -> str:
    """The graph in one of FORMATS, ending in a newline; LineageError for another format."""
    if format not in FORMATS:
        raise LineageError(f"--format {format} is none of {', '.join(FORMATS)}.")
    return FORMATS[format](graph)


def _json(graph: Graph) -> str:
    return to_json(graph_json(graph)) + "\n"


def _openlineage(graph: Graph) -> str:
    from pipelines.lineage.events import to_openlineage  # imports a client library, which takes a while

    return to_openlineage(graph)


FORMATS: Mapping[str, Callable[[Graph], str]] = {"openlineage": _openlineage, "json": _json, "dot": to_dot}
