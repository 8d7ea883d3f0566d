"""The tables of many traces as rows of one table, which clusters can move.

A cluster's own writer commits its own files, so work that it does twice after a failure neither
loses nor duplicates rows. It takes two stages: paths become rows of an *envelope*, one for each table of
a trace; then, table by table, envelopes are unpacked and written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from ._report import Report, report, schema
from ._source import Source

SCHEMA = pa.schema(
    [("table", pa.string()), ("date", pa.date32()), ("run_id", pa.string()), ("ipc", pa.binary())]
)
"""A table of a run, its rows as an Arrow stream."""


def envelope(traces: Iterable[Source], **options: Any) -> pa.Table:
    """The envelope of traces; the options are those of ``report``."""
    rows = [row for trace in traces for row in _rows(report(trace, **options))]
    return pa.Table.from_pylist(rows, SCHEMA)


def unpack(envelopes: pa.Table, table: str) -> pa.Table:
    """The rows of one table, as ``schema(table)`` has them."""
    columns = zip(envelopes["table"].to_pylist(), envelopes["ipc"].to_pylist())
    parts = [pa.ipc.open_stream(ipc).read_all() for name, ipc in columns if name == table]
    return pa.concat_tables(parts) if parts else schema(table).empty_table()


def spread(paths: Sequence[str | os.PathLike[str]], pieces: int) -> list[list[str]]:
    """Paths of files in at most ``pieces`` lists of about as many bytes each, the largest first.

    Reading time is proportional to bytes, so lists with equal numbers of *files* would take different times.
    """
    lists: list[list[str]] = [[] for _ in range(max(1, pieces))]
    bytes_in = [0] * len(lists)
    sized = [(_size(path), path) for path in map(os.fspath, paths)]
    for size, path in sorted(sized, key=lambda of: of[0], reverse=True):
        least = min(range(len(lists)), key=lambda at: (bytes_in[at], len(lists[at])))
        lists[least].append(path)
        bytes_in[least] += size
    return [each for each in lists if each]


def _size(path: str) -> int:
    """The size of a file on this machine; 0 for other paths, which are therefore spread by their number."""
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _rows(tables: Report) -> Iterable[dict[str, object]]:
    date = tables["runs"]["date"][0].as_py()
    for name, table in tables.items():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        yield {"table": name, "date": date, "run_id": tables.run_id, "ipc": sink.getvalue().to_pybytes()}
