"""What is drawn: for each breed, prompts of its photos, with a seed a picture."""

from dataclasses import dataclass

from components.data.encoded import EncodedDataset

SEEDS_PER_BREED = 1_000_000


@dataclass(frozen=True)
class Request:
    """One picture to draw. `breed` is the position in the model's breed list; `text_id` names the prompt."""

    breed: int
    text_id: str
    seed: int


def evaluation_requests(
    dataset: EncodedDataset, breeds: list[str], per_breed: int, seed: int
) -> list[Request]:
    """`per_breed` requests for every breed of the list that has prompts, with fixed seeds.

    Prompts are the breed's own, of the test photos where it has any, in the order of their ids and repeated
    as needed; a picture's seed depends on its breed and number only.
    """
    index = dataset.index
    by_breed: dict[str, dict[str, set[str]]] = {}
    for breed, split, text in zip(
        index.column("breed").to_pylist(),
        index.column("split").to_pylist(),
        index.column("prompt_id").to_pylist(),
        strict=True,
    ):
        if breed is not None:
            by_breed.setdefault(breed, {}).setdefault(split, set()).add(text)
    requests = []
    for position, breed in enumerate(breeds):
        splits = by_breed.get(breed, {})
        prompts = sorted(splits.get("test") or splits.get("val") or splits.get("train") or ())
        if prompts:
            first = seed + position * SEEDS_PER_BREED
            requests += [Request(position, prompts[i % len(prompts)], first + i) for i in range(per_breed)]
    return requests
