"""Options of the captions step."""

from components.data.options import StepOptions, option


class CaptionsOptions(StepOptions):
    """What counts as a vague caption and as a dog word."""

    vague_phrases: list[str] = option(
        [], "words and phrases that make a caption vague; [] takes the built-in list"
    )
    dog_words: list[str] = option([], "words that say dog; [] takes the built-in list of many languages")


OPTIONS = CaptionsOptions
