"""The breed table: keys, names and aliases of the 120 Stanford-Dogs breeds and some others, and look-up.

`breeds.csv` has one row a breed. Collection `stanford_dogs` are the 120 breeds of Stanford Dogs in the order
of their ImageNet synsets; `additional` are breeds of other public sets (Oxford-IIIT Pet) or everyday names.
An alias that starts with `~` is also an ordinary word ("cardigan", "boxer"): as a label it names the breed;
in a caption only beside a dog word or another breed. `breed_groups.csv` lists words that name several breeds
("husky", "corgi", "poodle"): they never become a label, `candidates` gives the breeds they may mean.
"""

import csv
import functools
import hashlib
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from components.data.breed_names import is_cjk, normalise, normalise_label, plurals, spellings

STANFORD_DOGS = "stanford_dogs"
_COLUMNS = ("key", "name", "collection", "folder", "aliases")
_KEY = re.compile(r"[a-z][a-z0-9_]*\Z")
_DOG_WORDS = frozenset(
    {"dog", "dogs", "doggy", "doggie", "puppy", "puppies", "pup", "pups", "canine", "canines", "breed"}
    | {"purebred", "leash", "fetch", "hund", "hunde", "welpe"}
)
_DOG_CHARACTERS = frozenset("犬狗")
_CROSSBREED = frozenset({"mix", "mixed", "mixes", "cross", "crosses", "crossbreed", "hybrid", "mischling"})


class BreedTableError(ValueError):
    """A breeds CSV that cannot be used; the message names the row and the fix."""


@dataclass(frozen=True)
class Breed:
    """One breed. `folder` is its Stanford-Dogs folder or "". `aliases` are as written, `~` marks included."""

    key: str
    name: str
    collection: str
    folder: str
    aliases: tuple[str, ...]

    @property
    def synset(self) -> str:
        """WordNet id such as n02085620, or ""."""
        return self.folder.split("-", 1)[0]


class BreedTable:
    """Breeds in a fixed order, found by label or by mention in a text."""

    def __init__(self, breeds: Iterable[Breed], groups: Iterable[tuple[str, tuple[str, ...]]] = ()) -> None:
        self.breeds = {breed.key: breed for breed in breeds}
        self._labels: dict[str, str] = {}
        self._compact: dict[str, str] = {}
        self._words: dict[str, tuple[str, bool]] = {}
        self._groups: dict[str, tuple[str, ...]] = {}
        for breed in self.breeds.values():
            self._add(breed)
        for term, members in groups:
            if normalise(term) not in self._labels:
                self._add_group(term, members)
        cjk = sorted((word for word in self._words if is_cjk(word)), key=len, reverse=True)
        self._cjk = re.compile("|".join(map(re.escape, cjk)) or r"(?!)")
        self._longest = max((word.count(" ") + 1 for word in self._words), default=0)
        self._first_words = {word.split(" ", 1)[0] for word in self._words}

    def _add(self, breed: Breed) -> None:
        written = (breed.key, breed.name, breed.folder.split("-", 1)[-1], *breed.aliases)
        for alias in written:
            weak = alias.startswith("~")
            for form in spellings(alias.removeprefix("~")):
                owner = self._labels.setdefault(form, breed.key)
                if owner != breed.key:
                    raise BreedTableError(
                        f"{alias!r} of breed {breed.key!r} already names {owner!r}; "
                        "give each alias to one breed."
                    )
                self._compact.setdefault(form.replace(" ", ""), breed.key)
                for word in {form, *plurals(form)}:
                    self._words.setdefault(word, (breed.key, False))
                    if weak:
                        self._words[word] = (breed.key, True)

    def _add_group(self, term: str, members: tuple[str, ...]) -> None:
        form = normalise(term)
        self._groups[form] = members
        for word in {form, *plurals(form)}:
            self._words.setdefault(word, ("", False))

    def __len__(self) -> int:
        return len(self.breeds)

    def __contains__(self, key: object) -> bool:
        return key in self.breeds

    def __getitem__(self, key: str) -> Breed:
        return self.breeds[key]

    @property
    def digest(self) -> str:
        """Hash of everything that decides a look-up, for identities (16 hex digits)."""
        rows = [repr(breed) for breed in self.breeds.values()]
        rows += [repr(group) for group in sorted(self._groups.items())]
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]

    def key(self, text: str) -> str | None:
        """Key of the breed that a label names (folder, column value, file stem), or None.

        Case, accents, separators, a synset in front, a running number behind, a plural and a closing
        "dog"/"dogs" do not matter. A group word ("husky") is None: see `candidates`.
        """
        form = normalise_label(text)
        for candidate in _label_forms(form):
            found = self._labels.get(candidate) or self._plural_label(candidate)
            if found:
                return found
        return None if form in self._groups else self._compact.get(form.replace(" ", ""))

    def _plural_label(self, form: str) -> str | None:
        return self._words.get(form, ("", False))[0] or None

    def candidates(self, text: str) -> tuple[str, ...]:
        """Breeds that a group word ("corgi") may mean, most usual first; () for any other label."""
        return self._groups.get(normalise_label(text), ())

    def find(self, caption: str) -> list[str]:
        """Keys of the breeds a text mentions, in order, each once.

        The longest alias wins ("border collie" is not a collie) on word boundaries, or as a run of
        characters in Chinese and Japanese. A mix ("doberman mix") is not a mention of the breed.
        """
        tokens = normalise(caption).split(" ")
        mentions = list(self._mentions(tokens))
        certain = any(not weak for _, weak in mentions) or any(_is_dog_word(token) for token in tokens)
        found = [key for key, weak in mentions if key and (certain or not weak)]
        return list(dict.fromkeys(found))

    def _mentions(self, tokens: list[str]) -> Iterator[tuple[str, bool]]:
        """(key, weak) of each alias in the text, left to right; key "" for a group word."""
        at = 0
        while at < len(tokens):
            token = tokens[at]
            length = 1
            if is_cjk(token):
                for match in self._cjk.finditer(token):
                    yield self._words[match.group()]
            elif token in self._first_words:
                length = self._match_length(tokens, at)
                mixed = bool(_CROSSBREED & set(tokens[at + length : at + length + 1]))
                if length and not mixed:
                    yield self._words[" ".join(tokens[at : at + length])]
            at += max(length, 1)

    def _match_length(self, tokens: list[str], at: int) -> int:
        for length in range(min(self._longest, len(tokens) - at), 0, -1):
            if " ".join(tokens[at : at + length]) in self._words:
                return length
        return 0


def _label_forms(form: str) -> Iterator[str]:
    yield form
    head, _, last = form.rpartition(" ")
    if head and last in _DOG_WORDS:
        yield head


def _is_dog_word(token: str) -> bool:
    return token in _DOG_WORDS or (is_cjk(token) and not _DOG_CHARACTERS.isdisjoint(token))


def load_breeds(extra_csv: str = "") -> BreedTable:
    """The shipped table, with a user's rows added.

    extra_csv: text of a CSV with the columns `key` and, as wanted, `name` and `aliases` (`|` between them).
      A new key adds a breed; a known key adds aliases to it, which is also how a group word gets a meaning
      ("siberian_husky,,husky").
    Raises BreedTableError that names the row, for an unknown column, a bad key or an alias of another breed.
    """
    folder = Path(__file__).parent
    shipped = (folder / "breeds.csv").read_text(encoding="utf-8")
    breeds = {row["key"]: _breed(row) for _, row in _rows(shipped)}
    for number, row in _rows(extra_csv):
        _add_extra(breeds, row, number)
    groups = csv.DictReader(io.StringIO((folder / "breed_groups.csv").read_text(encoding="utf-8")))
    return BreedTable(breeds.values(), [(row["term"], tuple(row["members"].split("|"))) for row in groups])


def _rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """(line number, row) of a breeds CSV."""
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    unknown = set(reader.fieldnames or ()) - set(_COLUMNS)
    if unknown or (reader.fieldnames and "key" not in reader.fieldnames):
        raise BreedTableError(
            f"The breeds CSV has the columns {list(reader.fieldnames or ())}; "
            f"it needs `key` and takes {', '.join(_COLUMNS[1:])}."
        )
    for row in reader:
        if None in row:
            raise BreedTableError(
                f"Row {reader.line_num} of the breeds CSV has more fields than the header; "
                "separate aliases by `|` and quote a field that holds a comma."
            )
        yield reader.line_num, {name: (row.get(name) or "").strip() for name in _COLUMNS}


def _breed(row: dict[str, str]) -> Breed:
    name = row["name"] or row["key"].replace("_", " ")
    return Breed(row["key"], name, row["collection"], row["folder"], _aliases(row))


def _aliases(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(alias.strip() for alias in row["aliases"].split("|") if alias.strip())


def _add_extra(breeds: dict[str, Breed], row: dict[str, str], number: int) -> None:
    key = row["key"]
    if not _KEY.match(key):
        raise BreedTableError(
            f"Row {number} of the breeds CSV has the key {key!r}; "
            "keys are lower-case letters, digits and underscores, such as shiba_inu."
        )
    known = breeds.get(key)
    if known is None:
        breeds[key] = _breed({**row, "collection": row["collection"] or "user"})
    else:
        breeds[key] = replace(known, aliases=known.aliases + _aliases(row), name=row["name"] or known.name)


@functools.cache
def default_breeds() -> BreedTable:
    """The shipped table, loaded once."""
    return load_breeds()


def breed_table(csv_path: str = "") -> BreedTable:
    """The shipped table with the rows of a user's CSV file; "" adds none. Raises BreedTableError."""
    if not csv_path:
        return default_breeds()
    try:
        return load_breeds(Path(csv_path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BreedTableError(f"The breeds CSV {csv_path} cannot be read: {error.strerror}.") from None


def breed_key(text: str) -> str | None:
    """`BreedTable.key` of the shipped table."""
    return default_breeds().key(text)


def find_breeds(caption: str) -> list[str]:
    """`BreedTable.find` of the shipped table."""
    return default_breeds().find(caption)
