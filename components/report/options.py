"""Options of the report step."""

from components.data.options import StepOptions, option


class ReportOptions(StepOptions):
    """What the report is called and how many photos it shows."""

    title: str = option("", "title of the page; '' names the dataset")
    photos_per_side: int = option(6, "photos on either side of each threshold", ge=1, le=50)
    thumbnail_px: int = option(220, "long side of the photos, in pixels", ge=32, le=1024)
    photo_budget_mb: float = option(
        3.0, "megabytes of photos the page may hold; the rest is left out", ge=0, le=100
    )
    workers: int = option(0, "threads (0: one per core)", identity=False, ge=0)


OPTIONS = ReportOptions
