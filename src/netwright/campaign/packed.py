"""Rows as Parquet files, which pandas, polars and DuckDB read, and SQL queries over them."""

import io
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from netwright.campaign.plan import COLUMNS
from netwright.campaign.store import PACKED, Part, Store
from netwright.campaign.work import Row
from netwright.errors import InputError

ROWS_A_PART = 1_000_000
_WHOLE = ("number", "steps", "network_steps", "non_blank", "head", "verified_steps", "checks")
_TYPES = {
    **dict.fromkeys(COLUMNS, "VARCHAR"),
    **dict.fromkeys(_WHOLE, "BIGINT"),
    **dict.fromkeys(("agrees", "certified"), "BOOLEAN"),
    "seconds": "DOUBLE",
}


def _needs(module: str, what: str) -> Any:
    """Import an optional module; raise InputError with the command that installs it."""
    try:
        return import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise InputError(
            f"{what} needs {name}: pip install {name}, or netwright with the extra campaign"
        ) from None


def pack(store: Store) -> tuple[int, int]:
    """Convert all other parts to Parquet; return how many rows and parts were written."""
    pyarrow = _needs("pyarrow", "pack")
    parquet = _needs("pyarrow.parquet", "pack")
    kinds = {
        "VARCHAR": pyarrow.string(),
        "BIGINT": pyarrow.int64(),
        "BOOLEAN": pyarrow.bool_(),
        "DOUBLE": pyarrow.float64(),
    }
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in _TYPES.items()])
    packed = parts = 0
    for group in _groups(store):
        content = io.BytesIO()
        with parquet.ParquetWriter(content, schema, compression="zstd") as writer:
            for part in group:
                rows = list(part.rows())
                writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
                packed += len(rows)
        store.replace(group, PACKED, content.getvalue())
        parts += 1
    return packed, parts


def _groups(store: Store) -> Iterator[list[Part]]:
    """Groups of adjacent parts, each to become one Parquet file."""
    group: list[Part] = []
    rows = 0
    for part in store.parts():
        if group and (part.packed or part.first != group[-1].last + 1 or rows >= ROWS_A_PART):
            yield group
            group, rows = [], 0
        if not part.packed:
            group.append(part)
            rows += part.entry.tally.rows
    if group:
        yield group


def packed_rows(part: Part, content: bytes) -> Iterator[Row]:
    """The rows of a Parquet part from the bytes of its file."""
    parquet = _needs("pyarrow.parquet", f"{part.path.name}, which is packed,")
    wrong = _needs("pyarrow", "").ArrowException
    try:
        with parquet.ParquetFile(io.BytesIO(content)) as file:
            for batch in file.iter_batches(10_000):
                yield from batch.to_pylist()
    except (wrong, OSError, KeyError) as error:
        raise part.damaged(error) from None


def ask(store: Store, question: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Run an SQL query over the view `rows`; return the names of its columns and its rows."""
    duckdb = _needs("duckdb", "--sql")
    parts, _ = store.verified()
    tables = []
    if packed := [_literal(part.path) for part in parts if part.packed]:
        tables.append(f"SELECT * FROM read_parquet({_quoted(packed)})")
    if live := [_literal(part.path) for part in parts if not part.packed]:
        types = ", ".join(f"{_quoted(name)}: {_quoted(kind)}" for name, kind in _TYPES.items())
        options = f"format='newline_delimited', columns={{{types}}}"
        tables.append(f"SELECT * FROM read_json({_quoted(live)}, {options})")
    if not tables:
        raise InputError(f"{store.folder} has no rows yet")
    with duckdb.connect() as connection:
        try:
            connection.execute(f"CREATE VIEW rows AS {' UNION ALL BY NAME '.join(tables)}")
            found = connection.execute(question)
            if found is None or not found.description:
                raise InputError(
                    "--sql is empty; expected a query such as: select count(*) from rows"
                )
            return [each[0] for each in found.description], found.fetchall()
        except duckdb.Error as error:
            raise InputError(f"--sql: {str(error).strip()}") from None


def _literal(path: Path) -> str:
    """A path with its glob characters escaped."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def _quoted(value: str | list[str]) -> str:
    """A string, or a list of strings, as an SQL literal."""
    if isinstance(value, list):
        return f"[{', '.join(map(_quoted, value))}]"
    return "'" + value.replace("'", "''") + "'"
