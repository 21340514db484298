"""Train, validation and test by a hash of the group, so that a group is never torn and stays where it is."""

import hashlib

TRAIN, VAL, TEST = "train", "val", "test"


def check_fractions(val_fraction: float, test_fraction: float) -> None:
    """Raise ValueError unless both are 0 or more and leave something to train on."""
    for name, value in (("val_fraction", val_fraction), ("test_fraction", test_fraction)):
        if not 0 <= value < 1:
            raise ValueError(f"{name} is {value}; it must be at least 0 and below 1.")
    if val_fraction + test_fraction >= 1:
        raise ValueError(
            f"val_fraction + test_fraction is {val_fraction + test_fraction}; below 1, the rest trains."
        )


def position(group_id: str, seed: int) -> float:
    """Where a group stands in [0, 1): the first 53 bits of sha256("<seed>/<group_id>"), as a fraction."""
    digest = hashlib.sha256(f"{seed}/{group_id}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / (1 << 53)


def split_of(group_id: str, *, val_fraction: float, test_fraction: float, seed: int = 0) -> str:
    """The column split of every row of a group: "test" for the lowest positions, then "val", else "train".

    It depends on nothing but the group: rows that are added later move no other row, unless they join two
    groups or become the smallest image_id of one. More test never takes a group out of test.
    """
    check_fractions(val_fraction, test_fraction)
    at = position(group_id, seed)
    if at < test_fraction:
        return TEST
    return VAL if at < test_fraction + val_fraction else TRAIN
