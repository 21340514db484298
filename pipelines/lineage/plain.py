"""The graph as plain JSON-able data, for `--json`, exports and the console."""

from dataclasses import asdict
from typing import Any

from pipelines.lineage.graph import Graph, Node


def node_json(node: Node) -> dict[str, Any]:
    """All fields of a node, and its label."""
    return {**asdict(node), "label": node.label}


def graph_json(graph: Graph) -> dict[str, Any]:
    """`nodes` (parents first), `edges` as source, relation and target, and `problems`."""
    return {
        "nodes": [node_json(node) for node in graph.nodes.values()],
        "edges": [asdict(edge) for edge in graph.edges],
        "problems": list(graph.problems),
    }
