"""Many traces on Spark.

.. code-block:: python

    from dormer import TABLES, spark as ds

    paths = ds.paths(spark, files, pieces=4 * workers)
    envelopes = paths.mapInArrow(ds.envelope(), ds.ENVELOPE).persist()
    ds.write(envelopes, store)

Spark has no unsigned integers and no nanoseconds in timestamps: 64-bit keys become signed integers with the
same bits, and timestamps are in microseconds. Durations remain integers of nanoseconds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from . import _envelope
from ._report import TABLES, schema

__all__ = ["ENVELOPE", "ddl", "envelope", "paths", "unpack", "write"]

ENVELOPE = "table string, date date, run_id string, ipc binary"
"""The envelope's schema, for ``mapInArrow``."""

Batches = Iterator[pa.RecordBatch]


def paths(spark: SparkSession, files: Sequence[str | os.PathLike[str]], *, pieces: int) -> DataFrame:
    """A data frame of paths in partitions of about equal size in bytes; ``pieces`` should be about four times
    the number of workers."""
    lists = _envelope.spread(files, pieces)
    rows = spark.sparkContext.parallelize(lists, len(lists)).flatMap(lambda each: [(path,) for path in each])
    return spark.createDataFrame(rows, "path string")


def envelope(*, path: str = "path", **options: Any) -> Callable[[Batches], Batches]:
    """Makes envelopes of the paths in a column; the options are those of ``dormer.report``.

    All rows carry the time of this call, so that rows that Spark makes again equal the first ones.
    """
    options = {"ingested_ns": time.time_ns(), **options}

    def function(batches: Batches) -> Batches:
        for batch in batches:
            for each in batch.column(path).to_pylist():
                yield from _envelope.envelope([each], **options).to_batches()

    return function


def unpack(table: str) -> Callable[[Batches], Batches]:
    """Unpacks the rows of one table out of envelopes."""

    def function(batches: Batches) -> Batches:
        for batch in batches:
            rows = _envelope.unpack(pa.Table.from_batches([batch]), table)
            columns = [_converted(column.combine_chunks()) for column in rows.columns]
            yield from pa.Table.from_arrays(columns, schema=_schema(table)).to_batches()

    return function


def ddl(table: str) -> str:
    """A table's schema, for ``mapInArrow``."""
    return ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in from_arrow_schema(_schema(table)))


def write(envelopes: DataFrame, store: str, *, files: int = 1) -> None:
    """Appends to a store: at most ``files`` Parquet files for each table and date."""
    for table in TABLES:
        rows = envelopes.where(f"table = '{table}'").coalesce(files).mapInArrow(unpack(table), ddl(table))
        rows.write.partitionBy("date").mode("append").parquet(f"{store}/{table}")


def _schema(table: str) -> pa.Schema:
    return pa.schema([pa.field(field.name, _type(field.type)) for field in schema(table)])


def _converted(values: pa.Array) -> pa.Array:
    if pa.types.is_uint64(values.type):
        return values.view(pa.int64())
    if pa.types.is_list(values.type):
        return pa.ListArray.from_arrays(values.offsets, _converted(values.values), mask=values.is_null())
    if pa.types.is_timestamp(values.type):
        return values.cast(_type(values.type), safe=False)
    return values


def _type(of: pa.DataType) -> pa.DataType:
    if pa.types.is_uint64(of):
        return pa.int64()
    if pa.types.is_timestamp(of):
        return pa.timestamp("us", of.tz)
    if pa.types.is_list(of):
        return pa.list_(_type(of.value_type))
    return of
