"""Style sheets and scripts: our own files, by name."""

from pathlib import Path

from fastapi import APIRouter
from starlette.responses import Response

from pipelines.lineage.console.catalog import Missing
from pipelines.lineage.console.pages import REPORT_TEMPLATES

router = APIRouter()
_FOLDER = Path(__file__).with_name("static")
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# The report's sheet is the base of ours, so that both look alike.
_FILES = {
    "report.css": REPORT_TEMPLATES / "style.css",
    **{path.name: path for path in _FOLDER.iterdir() if path.suffix in _TYPES},
}


@router.get("/static/{name}")
def static_file(name: str) -> Response:
    """One of the files; no name leads anywhere else."""
    if name not in _FILES:
        raise Missing(f"There is no file {name!r}.")
    path = _FILES[name]
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix], headers={"cache-control": "no-cache"})
