"""Many traces on Dask.

.. code-block:: python

    envelopes = client.map(dormer.dask.task(), paths, retries=3)  # paths of files, the largest first
    dormer.dask.write(client, envelopes, store)

Options of ``dormer.report`` are arguments of ``task``.
"""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Sequence
from typing import Any, overload

import pyarrow as pa
import pyarrow.dataset
from distributed import Client, Future

from . import _envelope
from ._report import TABLES
from ._source import Source

__all__ = ["task", "write"]


@overload
def task(**options: Any) -> Callable[[Source], pa.Table]: ...


@overload
def task(path: Source, **options: Any) -> pa.Table: ...


def task(path: Source | None = None, **options: Any) -> Any:
    """The envelope of one trace; the options are those of ``dormer.report``.

    Without a trace, a function that makes the envelope of one. All its rows carry the time of this call, so that rows
    that Dask makes again equal the first ones.
    """
    if path is None:
        return functools.partial(task, **{"ingested_ns": time.time_ns(), **options})
    return _envelope.envelope([path], **options)


def write(client: Client, envelopes: Sequence[Future[pa.Table]], store: str) -> None:
    """Writes a store: one Parquet file for each table and date, a task for each table."""
    written = [client.submit(_write, list(envelopes), table, f"{store}/{table}", retries=3) for table in TABLES]
    for each in written:
        each.result()  # raises the error of a failed task


def _write(envelopes: list[pa.Table], table: str, to: str) -> None:
    # A file that is written again after a failure has the same name.
    pyarrow.dataset.write_dataset(
        _envelope.unpack(pa.concat_tables(envelopes), table),
        to,
        format="parquet",
        partitioning=["date"],
        partitioning_flavor="hive",
        existing_data_behavior="overwrite_or_ignore",
        basename_template=f"{_name(envelopes)}-{{i}}.parquet",
    )


def _name(envelopes: list[pa.Table]) -> str:
    """A name that depends only on the runs."""
    runs = {run for envelope in envelopes for run in envelope["run_id"].to_pylist()}
    return hashlib.sha256("".join(sorted(runs)).encode()).hexdigest()[:16]
