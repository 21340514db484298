"""The lineage explorer: what a thing was made from and what was made from it, any number of hops away."""

import re
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from pipelines.lineage.console.layout import draw
from pipelines.lineage.console.site import TheSite
from pipelines.lineage.graph import RUN, Graph, LineageError, Node
from pipelines.lineage.photo import PhotoTrace
from pipelines.lineage.trace import trace_photo

router = APIRouter()
LISTED = 200
MATCHES = 50
ALL_HOPS = 99
Hops = Annotated[int, Query(ge=0, le=ALL_HOPS)]
_PHOTO = re.compile(r"[0-9a-f]{4,32}")


@router.get("/lineage")
def lineage_page(site: TheSite, id: str = "", up: Hops = 3, down: Hops = 3) -> Response:
    """What is around a node, found by the beginning of its id; without an id, a list."""
    graph = site.catalog.graph()
    matches = graph.matches(id.strip()) if id.strip() else []
    exact = id.strip() in graph.nodes
    if exact or len(matches) == 1:
        node = graph.node(id.strip())
        return site.pages.render("lineage.html.j2", _around(graph, node, up, down))
    if id.strip() and not matches:
        return _photo_page(site, graph, id.strip())
    listed = [graph.nodes[match] for match in matches[:MATCHES]] or list(graph.nodes.values())[::-1][:LISTED]
    content = {
        "id": id,
        "nodes": listed,
        "total": len(matches) or len(graph.nodes),
        "problems": graph.problems,
    }
    return site.pages.render("lineage_list.html.j2", content)


@router.get("/lineage/photos/{image_id}")
def photo_page(site: TheSite, image_id: str) -> Response:
    """Everything known of one photo, by its id or the beginning of it."""
    return _photo_page(site, site.catalog.graph(), image_id)


def _photo_page(site: TheSite, graph: Graph, image_id: str) -> Response:
    if not _PHOTO.fullmatch(image_id):
        raise LineageError(
            f"Nothing here has an id that begins with {image_id[:100]!r}: give the beginning of the id of an "
            "artifact, a run, or a photo (at least 4 hex digits)."
        )
    traced = trace_photo(graph, image_id)
    return site.pages.render("photo.html.j2", {"traced": traced, "shown": _shown_row(traced)})


def _shown_row(traced: PhotoTrace) -> tuple[str, int] | None:
    """A dataset and a row from which the photo can be shown."""
    rows = [row for row in traced.rows if any(group.name == "images" for group in row.groups)]
    return (rows[0].dataset_id, rows[0].row) if rows else None


def _around(graph: Graph, node: Node, up: int, down: int) -> dict[str, Any]:
    if node.kind == RUN:
        made = [other for other in graph.nodes.values() if node.name in other.made_by]
        wanted = {other.id: other for other in made}
    else:
        wanted = {
            other.id: other
            for other in [node, *graph.ancestors(node.id, up), *graph.descendants(node.id, down)]
        }
    # In the graph's order each comes after what it is made from, which the layout asks for.
    nodes = [other for other in graph.nodes.values() if other.id in wanted]
    needs = {other.id: [parent.id for parent in graph.parents(other.id)] for other in nodes}
    return {
        "node": node,
        "nodes": {other.id: other for other in nodes},
        "drawing": draw(needs),
        "up": up,
        "down": down,
        "more_up": len(graph.ancestors(node.id)) > len(graph.ancestors(node.id, up)),
        "more_down": len(graph.descendants(node.id)) > len(graph.descendants(node.id, down)),
        "all_hops": ALL_HOPS,
        "problems": graph.problems,
    }
