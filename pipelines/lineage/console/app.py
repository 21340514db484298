"""The console as a web application: pages for people, and small JSON answers for their scripts."""

from functools import partial
from pathlib import Path

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException as StarletteHTTPException

from components.data.manifest import ManifestError
from components.data.options import OptionError
from components.data.shards import ShardError
from components.data.storage import InvalidPath, NotFound, StorageError
from components.report.data import ReportError
from pipelines.lineage.console import artifacts, compare, explorer, review, run_pages, static, tuning
from pipelines.lineage.console.catalog import Catalog, Missing
from pipelines.lineage.console.columns import Columns
from pipelines.lineage.console.dag import Dags
from pipelines.lineage.console.pages import Pages
from pipelines.lineage.console.photos import Photos
from pipelines.lineage.console.relaunch import RelaunchError
from pipelines.lineage.console.reviews import MarkError
from pipelines.lineage.console.rows import FilterError
from pipelines.lineage.console.security import Access, Guard
from pipelines.lineage.console.site import Site
from pipelines.lineage.console.tuning import Explorers
from pipelines.lineage.graph import LineageError
from pipelines.runs.record import RunError
from pipelines.store.server import StoreServerError

_STATUS: dict[type[Exception], int] = {
    Missing: 404,
    NotFound: 404,
    InvalidPath: 404,
    FilterError: 400,
    MarkError: 400,
    OptionError: 400,
    RelaunchError: 409,
    ReportError: 409,
    ManifestError: 409,
    ShardError: 409,
    LineageError: 404,
    RunError: 404,
    StorageError: 503,
    StoreServerError: 503,
}


def create_app(home: Path, access: Access) -> FastAPI:
    """The console over the runs of a dogflow home, for requests that `access` allows."""
    app = FastAPI(title="dogflow", openapi_url=None, docs_url=None, redoc_url=None)
    catalog = Catalog(home)
    columns = Columns()
    site = Site(
        catalog=catalog,
        dags=Dags(catalog),
        columns=columns,
        photos=Photos(),
        explorers=Explorers(columns),
        pages=Pages(access.csrf),
    )
    app.state.site = site
    for part in (run_pages, artifacts, tuning, review, explorer, compare, static):
        app.include_router(part.router)
    for kind, status in _STATUS.items():
        app.add_exception_handler(kind, partial(_answer_error, site, status))
    app.add_exception_handler(StarletteHTTPException, partial(_answer_http_error, site))
    app.add_exception_handler(RequestValidationError, partial(_answer_wrong, site))
    app.add_exception_handler(Exception, _answer_bug)
    app.add_middleware(Guard, access=access)
    return app


def _say(site: Site, request: Request, status: int, message: str) -> Response:
    if request.url.path.startswith("/api/"):
        return JSONResponse({"error": message}, status)
    return site.pages.render("error.html.j2", {"status": status, "message": message}, status)


def _answer_error(site: Site, status: int, request: Request, error: Exception) -> Response:
    return _say(site, request, status, str(error))


def _answer_http_error(site: Site, request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException | StarletteHTTPException)
    text = "There is no such page." if error.status_code == 404 else str(error.detail)
    return _say(site, request, error.status_code, text)


def _answer_wrong(site: Site, request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    wrong = "; ".join(f"{item['loc'][-1]}: {item['msg']}" for item in error.errors()[:5])
    return _say(site, request, 422, f"The request cannot be understood: {wrong}.")


def _answer_bug(request: Request, error: Exception) -> Response:
    # What went wrong stands in the console's terminal; a page need not tell its reader about our code.
    return PlainTextResponse("The console failed; its terminal shows why.\n", 500)
