from components.data.options import StepOptions, option


class PhotosOptions(StepOptions):
    rows: int = option(3, "How many rows.", ge=1, le=100)
    words: list[str] = option(["sit", "stay"], "Words to use.")
    weights: dict[str, float] = option({}, "Weight of each word.")
    note: str = option("", "Written beside the data.", identity=False)


OPTIONS = PhotosOptions
