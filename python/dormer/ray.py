"""Many traces on Ray.

.. code-block:: python

    paths = ray.data.from_items(paths)  # of files, the largest first
    envelopes = paths.map_batches(dormer.ray.envelope(), batch_size=8, batch_format="pyarrow").materialize()
    dormer.ray.write(envelopes, store)

Options of ``dormer.report`` are arguments of ``envelope``. A task takes one CPU and, with ``memory_mb``,
as much memory as that and 200 MB; tell Ray with ``memory=``.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, overload

import pyarrow as pa
import ray.data

from . import _envelope
from ._report import TABLES

__all__ = ["envelope", "unpack", "write"]


@overload
def envelope(*, column: str = "item", **options: Any) -> Callable[[pa.Table], pa.Table]: ...


@overload
def envelope(batch: pa.Table, *, column: str = "item", **options: Any) -> pa.Table: ...


def envelope(batch: pa.Table | None = None, *, column: str = "item", **options: Any) -> Any:
    """The envelope of a batch of paths or URLs; the options are those of ``dormer.report``.

    Without a batch, a function that makes the envelope of one. All its rows carry the time of this call, so that rows
    that Ray makes again equal the first ones.
    """
    if batch is None:
        return functools.partial(envelope, column=column, **{"ingested_ns": time.time_ns(), **options})
    return _envelope.envelope(batch[column].to_pylist(), **options)


def unpack(batch: pa.Table, *, table: str) -> pa.Table:
    """The rows of one table in a batch of envelopes."""
    return _envelope.unpack(batch, table)


def write(envelopes: ray.data.Dataset, store: str, *, files: int = 1) -> None:
    """Writes a store: at most ``files`` Parquet files for each table and date."""
    envelopes = envelopes.repartition(files)
    for table in TABLES:
        rows = envelopes.map_batches(functools.partial(unpack, table=table), batch_size=None, batch_format="pyarrow")
        rows.write_parquet(f"{store}/{table}", partition_cols=["date"])
