"""The graph as a drawing in Graphviz's DOT language."""

from pipelines.lineage.graph import DERIVED_FROM, RUN, SOURCE, Graph, Node

SHAPES = {SOURCE: "folder", "dataset": "cylinder", "model": "box3d", "samples": "component", RUN: "ellipse"}


def to_dot(graph: Graph) -> str:
    """DOT with an arrow from what was there first to what was made from it; runs hang on by dashed lines."""
    lines = ["digraph lineage {", "  rankdir=LR;", '  node [shape=note, fontname="sans-serif"];']
    for node in graph.nodes.values():
        style = "" if node.found else ", style=dashed"
        shape = SHAPES.get(node.kind, "note")
        lines.append(f"  {quoted(node.id)} [label={quoted(_label(node))}, shape={shape}{style}];")
    for edge in graph.edges:
        ends = f"{quoted(edge.target)} -> {quoted(edge.source)}"
        dashed = "" if edge.relation == DERIVED_FROM else f" [style=dashed, label={edge.relation}]"
        lines.append(f"  {ends}{dashed};")
    return "\n".join([*lines, "}", ""])


def quoted(text: str) -> str:
    """A DOT string that shows `text` as it is, whatever it holds.

    Inside quotes a quote and a backslash need a backslash. Control characters, which no drawing can show, are
    spelled out as Python escapes would be, a line break too.
    """
    shown = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _label(node: Node) -> str:
    return node.label if node.kind == RUN else f"{node.label} ({node.id})"
