"""Options of the prompts step."""

from components.data.options import StepOptions, option


class PromptsOptions(StepOptions):
    """How training prompts are put together."""

    opening: str = option("a purebred {breed}", "begin of every prompt; holds {breed}", pattern=r"\{breed\}")
    background_clause: str = option(
        "plain gray background", "said only where foreground measured a plain background; '' never"
    )
    n_features: int = option(3, "features of the breed named in a prompt (-1: all known)", ge=-1, le=50)
    reviewed_only: bool = option(False, "name only features that a person checked against a source")
    max_tokens: int = option(77, "tokens of a prompt, start and end included, at most", ge=8)
    features: str = option("", "JSON of breed features; '' takes the shipped table", identity=False)
    annotations: str = option(
        "", "CSV of annotators' votes (breed, feature, annotator, value)", identity=False
    )
    min_annotators: int = option(2, "votes a feature needs to be decided by majority", ge=1)
    breeds_csv: str = option("", "CSV of breeds to add to the table", identity=False)


OPTIONS = PromptsOptions
