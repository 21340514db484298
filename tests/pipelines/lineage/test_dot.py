"""DOT that a reader of the language takes apart into the same nodes, edges and labels."""

import pydot
import pytest

from components.data.storage import open_store
from pipelines.lineage.dot import quoted, to_dot
from pipelines.lineage.graph import build

# pydot itself is behind pyparsing.
pytestmark = pytest.mark.filterwarnings("ignore:'setParseAction'")

HOSTILE = [
    'a "quoted" name',
    "back\\slash and \\\\ two",
    "ends with a backslash \\",
    'digraph { a -> b; } "',
    "<b>not html</b>",
    "naïve \N{DOG FACE} 犬 \N{ARABIC LETTER ALEF}",
    "x" * 10_000,
    "",
    "-> -- ; [label=x] // comment /* */ #",
]


def unquoted(text):
    assert text[0] == text[-1] == '"'
    return text[1:-1].replace('\\"', '"').replace("\\\\", "\\")


def parsed(text):
    graphs = pydot.graph_from_dot_data(text)
    assert graphs is not None and len(graphs) == 1
    return graphs[0]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_one_label_and_reads_back(text):
    graph = parsed(f"digraph {{ {quoted('n')} [label={quoted(text)}]; }}")
    (node,) = graph.get_nodes()
    assert unquoted(node.get("label")) == text
    assert not graph.get_edges()


@pytest.mark.parametrize(
    ("text", "shown"), [("two\nlines", r"two\nlines"), ("bell\a", r"bell\x07"), ("\0", r"\x00")]
)
def test_control_characters_are_spelled_out(text, shown):
    (node,) = parsed(f"digraph {{ n [label={quoted(text)}]; }}").get_nodes()
    assert unquoted(node.get("label")) == shown


def test_the_drawing_has_the_nodes_and_edges_of_the_graph(making, tmp_path):
    store = open_store(str(tmp_path))
    dataset = making.manifest("a").save(store)
    making.manifest("m", "model", "ab").save(store)
    task = making.task("ingest", {}, {"result": making.artifact(dataset, store.uri)})
    run_id = 'a "run"; }\n'
    graph = build([store], [making.run(run_id, store.uri, task)])
    drawn = parsed(to_dot(graph))
    ids = {unquoted(node.get_name()) for node in drawn.get_nodes() if node.get_name() != "node"}
    assert ids == {id.replace("\n", r"\n") for id in graph.nodes}
    edges = {(unquoted(edge.get_source()), unquoted(edge.get_destination())) for edge in drawn.get_edges()}
    assert edges == {
        (edge.target.replace("\n", r"\n"), edge.source.replace("\n", r"\n")) for edge in graph.edges
    }
    (gone,) = (node for node in drawn.get_nodes() if node.get_name() == f'"{"b" * 16}"')
    assert gone.get("style") == "dashed"
