"""What every page of the console works with."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from pipelines.lineage.console.catalog import Catalog
from pipelines.lineage.console.columns import Columns
from pipelines.lineage.console.dag import Dags
from pipelines.lineage.console.pages import Pages
from pipelines.lineage.console.photos import Photos

if TYPE_CHECKING:
    from pipelines.lineage.console.tuning import Explorers


@dataclass(frozen=True)
class Site:
    """The parts that requests share; all of them may be used from threads."""

    catalog: Catalog
    dags: Dags
    columns: Columns
    photos: Photos
    explorers: "Explorers"
    pages: Pages


def _site(request: Request) -> Site:
    found = request.app.state.site
    assert isinstance(found, Site)
    return found


TheSite = Annotated[Site, Depends(_site)]
