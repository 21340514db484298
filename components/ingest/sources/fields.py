"""Column names of tables, sidecars and Parquet files, and what their values mean."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from components.ingest.sources.record import SourceError, SourceItem

# Role -> accepted column names, best first. Names are compared in lower case with "_" for " " and "-".
SYNONYMS: dict[str, list[str]] = {
    "file": str.split(
        "file file_name filename image_file image_filename image_path image_name filepath file_path path "
        "image img photo image_id id key"
    ),
    "caption": str.split("caption text description prompt sentence alt_text alt txt captions comment"),
    "breed": str.split("breed label class class_name breed_name category label_name labels cls"),
    "source": str.split("source dataset source_name dataset_name origin"),
    "license": str.split("license licence license_name rights image_license"),
    "reviewed": str.split("reviewed is_reviewed verified approved human_reviewed"),
    "group": str.split("group clip session burst clip_key group_id video sequence"),
}
TEXT_ROLES = ("caption", "breed", "source", "license", "group")
YES = frozenset({"true", "1", "yes", "y", "t", "x", "1.0", "reviewed"})
NO = frozenset({"", "false", "0", "no", "n", "f", "0.0", "none", "null", "nan"})
NULLS = frozenset({"none", "null", "nan", "n/a", "<na>"})  # what exporters write for a missing value
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
MAX_TEXT_CHARS = 20_000


def find_roles(names: Iterable[str], synonyms_of: Mapping[str, list[str]] = SYNONYMS) -> dict[str, str]:
    """Return {role: column name}, the best synonym of each role that the columns hold."""
    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(name.strip().strip("\ufeff").casefold().replace(" ", "_").replace("-", "_"), name)
    roles = {}
    for role, synonyms in synonyms_of.items():
        match = next((plain[synonym] for synonym in synonyms if synonym in plain), None)
        if match is not None:
            roles[role] = match
    return roles


def as_text(value: Any) -> str:
    """Return a cell as text: "" for nothing, the first of a list, "True" as "true", whole floats as ints."""
    if isinstance(value, list | tuple):
        value = next((one for one in value if one not in (None, "")), None)
    if value is None or isinstance(value, dict):
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape").strip()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def clean_text(text: str) -> tuple[str, str]:
    """Return (text that Arrow can hold, problem). Bytes that are not UTF-8 become U+FFFD."""
    problem = ""
    if len(text) <= MAX_TEXT_CHARS and text.isascii():  # most fields by far
        return text, problem
    try:
        text.encode()
    except UnicodeEncodeError as error:
        odd = ord(text[error.start])
        what = f"byte 0x{odd - 0xDC00:02x}" if 0xDC80 <= odd <= 0xDCFF else f"half a character, U+{odd:04X}"
        problem = f"is not valid UTF-8 ({what})"
        text = "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    if len(text) > MAX_TEXT_CHARS:
        problem = f"has {len(text)} characters, more than the {MAX_TEXT_CHARS} a field may have"
        text = text[:MAX_TEXT_CHARS]
    return text, problem


def parse_reviewed(text: str) -> bool:
    """Read yes or no. Raises SourceError for anything else."""
    plain = text.strip().casefold()
    if plain in YES:
        return True
    if plain in NO:
        return False
    raise SourceError(f"reviewed is {text[:40]!r}; write true or false")


def item_of(relpath: str, values: Mapping[str, str], problem: str = "") -> SourceItem:
    """Make an item of {role: text}; what is wrong with a value becomes its problem, after `problem`."""
    problems = [problem] if problem else []
    texts = {}
    for role in TEXT_ROLES:
        text, fault = clean_text(values.get(role, ""))
        # "None" and "nan" are absences that some exporter wrote out; as a caption they would train.
        texts[role] = "" if text.casefold() in NULLS else text
        if fault:
            problems.append(f"{role} {fault}")
    reviewed = False
    try:
        reviewed = parse_reviewed(values.get("reviewed", ""))
    except SourceError as error:
        problems.append(str(error))
    return SourceItem(relpath=relpath, reviewed=reviewed, problem="; ".join(problems), **texts)


def safe_relpath(text: str) -> str:
    """Return a file name of a table or an archive as a relpath. Raises SourceError with the reason.

    Backslashes are Windows separators, "./" at the start is dropped; absolute paths, drives, URLs, "..",
    control characters and text that is not UTF-8 are refused.
    """
    path = text.replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    shown = repr(text[:120])
    if not path or path.endswith("/"):
        raise SourceError(f"{shown} names no file")
    if "://" in path:
        raise SourceError(f"{shown} is a URL; download it first (img2dataset does) and name the file")
    if path.startswith("/") or path[1:3] == ":/":
        raise SourceError(f"{shown} is an absolute path; write it relative to the source")
    segments = path.split("/")
    if ".." in segments:
        raise SourceError(f'{shown} leaves the source with ".."; write it relative to the source')
    if _UNPRINTABLE.search(path):
        raise SourceError(f"{shown} has control characters or is not UTF-8; rename the file")
    return "/".join(segment for segment in segments if segment not in ("", "."))
