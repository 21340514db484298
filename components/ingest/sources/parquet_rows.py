"""Parquet files opened for bounded reads: the columns without pictures, row batch by row batch."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from components.ingest.sources.record import SourceError
from components.ingest.sources.tree import FileTree

TEXT_BATCH_ROWS = 1024
BUFFER_BYTES = 2**20  # streamed column chunks: a row group of 10,000 photos is never in memory at once
_SCALARS = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
)


@contextmanager
def open_parquet(tree: FileTree, relpath: str) -> Iterator[pq.ParquetFile]:
    """Open a file for streamed reads. Raises SourceError for what is no Parquet."""
    with tree.open(relpath) as stream:
        try:
            file = pq.ParquetFile(stream, pre_buffer=False, buffer_size=BUFFER_BYTES)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise SourceError(f"{relpath} is no readable Parquet file: {first_line(error)}") from None
        with file:
            yield file


def text_columns(schema: pa.Schema) -> list[str]:
    """Return the columns that hold texts, numbers and flags, or lists of texts."""
    names = []
    for field in schema:
        kind = field.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            kind = kind.value_type if pa.types.is_string(kind.value_type) else pa.null()
        if any(check(kind) for check in _SCALARS):
            names.append(field.name)
    return names


def read_rows(tree: FileTree, relpath: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file without its pictures. Raises SourceError where it is damaged."""
    with open_parquet(tree, relpath) as file:
        columns = text_columns(file.schema_arrow)
        try:
            for batch in file.iter_batches(TEXT_BATCH_ROWS, columns=columns, use_threads=False):
                yield from batch.to_pylist()
        except (pa.ArrowException, OSError, ValueError) as error:
            raise SourceError(f"{relpath} is damaged: {first_line(error)}") from None


def class_names(schema: pa.Schema) -> dict[str, list[str]]:
    """Return {column: names} of the integer labels that Hugging Face datasets describe in the schema."""
    try:
        info = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = info["info"]["features"]
        return {
            column: [str(name) for name in feature["names"]]
            for column, feature in features.items()
            if isinstance(feature, dict) and isinstance(feature.get("names"), list)
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text; Arrow adds a stack of context."""
    return (str(error).splitlines() or [type(error).__name__])[0]
