"""Where model weights come from: a table of official ones, a cache folder, and checks by sha256."""


class WeightsError(ValueError):
    """Weights are absent, unreadable or not the expected ones; the message says which file and what to do."""
