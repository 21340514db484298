"""Annotators' judgements of breed features, merged by majority, with their agreement as Fleiss' kappa.

The CSV has the columns breed, feature, annotator, value: one row a judgement. A value needs more than half of
an item's votes and at least `min_annotators` of them to become a reviewed fact. Where the annotators have no
majority the fact is taken out: a prompt must not state what experts dispute.
"""

import collections
import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from components.data.breeds import BreedTable
from components.prompts.features import Fact, Feature, FeaturesError, check_level

COLUMNS = ("breed", "feature", "annotator", "value")


@dataclass(frozen=True)
class Annotation:
    """One annotator's judgement of one feature of one breed."""

    breed: str
    feature: str
    annotator: str
    value: str


@dataclass(frozen=True)
class Agreement:
    """Agreement on one feature (or on all): items judged by two or more, and Fleiss' kappa of them.

    kappa: None where it is undefined: no item with two judgements, or one and the same value everywhere.
    """

    items: int
    kappa: float | None


@dataclass(frozen=True)
class Merge:
    """facts: (breed, feature) -> the majority's fact, or None without a majority (those are in `disputed`).

    A judgement by too few annotators leaves the table as it is: it is in `too_few`, not in `facts`.
    """

    facts: dict[tuple[str, str], Fact | None]
    disputed: tuple[tuple[str, str], ...]
    too_few: tuple[tuple[str, str], ...]
    by_feature: dict[str, Agreement]
    overall: Agreement


def parse_annotations(text: str, breeds: BreedTable, features: Mapping[str, Feature]) -> list[Annotation]:
    """Rows of an annotators' CSV. Raises FeaturesError that names the row for anything that does not fit."""
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if missing:
        raise FeaturesError(
            f"The annotators' CSV lacks the column {missing[0]!r}; its header must name {', '.join(COLUMNS)}."
        )
    seen: dict[tuple[str, str, str], int] = {}
    annotations = []
    for row in reader:
        where = f"Row {reader.line_num} of the annotators' CSV"
        annotation = _annotation(row, breeds, features, where)
        item = (annotation.breed, annotation.feature, annotation.annotator)
        first = seen.setdefault(item, reader.line_num)
        if first != reader.line_num:
            raise FeaturesError(
                f"{where} repeats row {first}: {annotation.annotator!r} has already judged "
                f"{annotation.feature} of {annotation.breed}; keep one of the two."
            )
        annotations.append(annotation)
    return annotations


def _annotation(
    row: Mapping[str, str | None], breeds: BreedTable, features: Mapping[str, Feature], where: str
) -> Annotation:
    values = {name: (row.get(name) or "").strip() for name in COLUMNS}
    empty = [name for name in COLUMNS if not values[name]]
    if empty:
        raise FeaturesError(f"{where} has an empty {empty[0]}; fill it or take the row out.")
    breed = breeds.key(values["breed"])
    if breed is None:
        candidates = breeds.candidates(values["breed"])
        hint = (
            f"write one of {', '.join(candidates)}" if candidates else "use a key or name of the breed table"
        )
        raise FeaturesError(f"{where} names the breed {values['breed']!r}, which is not known; {hint}.")
    check_level(dict(features), values["feature"], values["value"], where=where)
    return Annotation(breed, values["feature"], values["annotator"], values["value"])


def merge_annotations(annotations: Iterable[Annotation], *, min_annotators: int = 2) -> Merge:
    """Majority per (breed, feature), and agreement per feature and overall."""
    votes: dict[tuple[str, str], collections.Counter[str]] = {}
    for annotation in annotations:
        key = (annotation.breed, annotation.feature)
        votes.setdefault(key, collections.Counter())[annotation.value] += 1
    facts: dict[tuple[str, str], Fact | None] = {}
    too_few = []
    for key, counter in votes.items():
        if counter.total() < min_annotators:
            too_few.append(key)
        else:
            facts[key] = _majority(counter)
    disputed = tuple(key for key, fact in facts.items() if fact is None)
    tables = _count_tables(votes)
    by_feature = {name: Agreement(len(_rated(table)), fleiss_kappa(table)) for name, table in tables.items()}
    overall = Agreement(
        sum(agreement.items for agreement in by_feature.values()), pooled_kappa(tables.values())
    )
    return Merge(facts, disputed, tuple(too_few), by_feature, overall)


def _majority(counter: collections.Counter[str]) -> Fact | None:
    value, count = counter.most_common(1)[0]
    if 2 * count <= counter.total():
        return None
    return Fact(value=value, reviewed=True, source=f"{count} of {counter.total()} annotators")


def _count_tables(votes: Mapping[tuple[str, str], collections.Counter[str]]) -> dict[str, np.ndarray]:
    """Per feature an (items, values) table of vote counts."""
    by_feature: dict[str, list[collections.Counter[str]]] = {}
    for (_, feature), counter in votes.items():
        by_feature.setdefault(feature, []).append(counter)
    tables = {}
    for feature, counters in by_feature.items():
        values = sorted({value for counter in counters for value in counter})
        tables[feature] = np.array([[counter[value] for value in values] for counter in counters])
    return tables


def _rated(counts: np.ndarray) -> np.ndarray:
    return counts[counts.sum(axis=1) >= 2]


def observed_and_chance(counts: np.ndarray) -> tuple[float, float]:
    """Mean observed agreement and chance agreement of an (items, values) table of vote counts.

    P_i = sum_j n_ij (n_ij - 1) / (n_i (n_i - 1)), P_e = sum_j p_j^2 (Fleiss 1971, eq. 1-4). Items may have
    different numbers of annotators: p_j is then the mean of the items' shares, equal to Fleiss' p_j when n_i
    is the same for all. Items with one judgement say nothing about agreement and are left out.
    """
    counts = _rated(counts).astype(np.float64)
    raters = counts.sum(axis=1)
    observed = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    shares = (counts / raters[:, None]).mean(axis=0)
    return float(observed.mean()), float((shares**2).sum())


def fleiss_kappa(counts: np.ndarray) -> float | None:
    """(P - P_e) / (1 - P_e) of an (items, values) table of vote counts; None where it is undefined."""
    return pooled_kappa([counts])


def pooled_kappa(tables: Iterable[np.ndarray]) -> float | None:
    """One kappa over several features: agreement and chance are averaged over items before the ratio.

    Features have different values, so one big table would count agreement between them as luck defied
    (de Vries et al. 2008, "Using pooled kappa to summarize interrater agreement").
    """
    rated = [table for table in tables if len(_rated(table))]
    if not rated:
        return None
    weights = np.array([len(_rated(table)) for table in rated], dtype=np.float64)
    observed, chance = np.average([observed_and_chance(table) for table in rated], axis=0, weights=weights)
    return None if np.isclose(chance, 1.0) else float((observed - chance) / (1 - chance))
