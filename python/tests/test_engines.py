"""Clusters: every file has exactly one row, even if a worker is killed midway.

Each engine's test is skipped where the engine is not installed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import dormer
from dormer import _envelope


def complete(store: Path, corpus: list[str]) -> None:
    runs = ds.dataset(store / "runs", partitioning="hive").to_table(["run_id", "status"])
    assert len(set(runs["run_id"].to_pylist())) == runs.num_rows == len(corpus)
    assert sorted(runs["status"].to_pylist()).count("rejected") == 2
    one = dormer.report(corpus[-1])
    n_ok = runs.num_rows - 2
    for table in dormer.TABLES:
        if table == "runs" or one[table].num_rows == 0:
            continue
        rows = ds.dataset(store / table, partitioning="hive").to_table(["run_id"])
        assert rows.num_rows == n_ok * one[table].num_rows, table
        # The views join tables by run and time.
        assert analyses(store, table) <= analyses(store, "runs"), table
    for table in dormer.TABLES:
        files = list((store / table).rglob("*.parquet"))
        assert len({path.parent for path in files}) == len(files), f"{table}: one file for each date"


def analyses(store: Path, table: str) -> set[tuple[str, int]]:
    """Run and time of each row."""
    rows = ds.dataset(store / table, partitioning="hive").to_table(["run_id", "ingested"])
    # Spark's timestamps are in microseconds.
    times = rows["ingested"].cast(pa.timestamp("us", "UTC"), safe=False).cast(pa.int64())
    return set(zip(rows["run_id"].to_pylist(), times.to_pylist()))


@contextmanager
def killing(find: Callable[[], list[int]], after: Callable[[], bool]) -> Iterator[list[int]]:
    """Kills the first process that ``find`` returns once ``after`` holds; yields the ids of killed processes."""
    killed: list[int] = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set() and not killed:
            if after() and (found := find()):
                os.kill(found[0], signal.SIGKILL)
                killed.append(found[0])
            time.sleep(0.01)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield killed
    finally:
        done.set()
        thread.join()


def processes(*words: str) -> list[int]:
    """Ids of processes with all words in their command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if all(word in line for word in words):
            found.append(int(folder.name))
    return found


def reading() -> bool:
    """Whether a trace is being read."""
    return bool(processes("dormer", " tables ", "--uri"))


def test_envelopes_give_back_the_tables(corpus: list[str]) -> None:
    envelopes = _envelope.envelope(corpus[-2:])
    assert envelopes.num_rows == 2 * len(dormer.TABLES)
    for table in dormer.TABLES:
        rows = _envelope.unpack(envelopes, table)
        assert rows.schema.equals(dormer.schema(table))
        assert rows.num_rows == sum(dormer.report(path)[table].num_rows for path in corpus[-2:])


def test_paths_are_spread_by_their_bytes(tmp_path: Path) -> None:
    # 9 + 1 and 5 + 4 bytes, not 9 + 5 and 4 + 1
    paths = [tmp_path / str(size) for size in (1, 4, 5, 9)]
    for path in paths:
        path.write_bytes(b"x" * int(path.name))
    lists = _envelope.spread(paths, 2)
    assert [[Path(path).name for path in each] for each in lists] == [["9", "1"], ["5", "4"]]
    urls = [f"s3://bucket/{n}.json" for n in range(4)]
    assert [len(each) for each in _envelope.spread(urls, 2)] == [2, 2]


def test_ray(corpus: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    import dormer.ray

    ray.init(num_cpus=2, include_dashboard=False, _temp_dir=str(tmp_path / "ray"))
    try:
        paths = ray.data.from_items(corpus)
        with killing(lambda: processes("ray::", "Map"), reading) as killed:
            envelopes = paths.map_batches(dormer.ray.envelope(), batch_size=2, batch_format="pyarrow").materialize()
        dormer.ray.write(envelopes, str(tmp_path / "store"))
    finally:
        ray.shutdown()
    assert killed
    complete(tmp_path / "store", corpus)


def test_dask(corpus: list[str], tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    import dormer.dask

    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            pids = [worker["pid"] for worker in client.run(lambda: {"pid": os.getpid()}).values()]
            with killing(lambda: pids, reading) as killed:
                envelopes = client.map(dormer.dask.task(), corpus, retries=3)
                distributed.wait(envelopes)
            dormer.dask.write(client, envelopes, str(tmp_path / "store"))
    assert killed
    complete(tmp_path / "store", corpus)


def test_spark(corpus: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    import dormer.spark

    builder = sql.SparkSession.builder.master("local-cluster[2,1,1024]")
    builder = builder.config("spark.ui.enabled", "false").config("spark.local.dir", str(tmp_path / "spark"))
    spark = builder.getOrCreate()
    try:
        paths = dormer.spark.paths(spark, corpus, pieces=8)
        with killing(lambda: processes("CoarseGrainedExecutorBackend", "--executor-id"), reading) as killed:
            envelopes = paths.mapInArrow(dormer.spark.envelope(), dormer.spark.ENVELOPE).persist()
            assert envelopes.count() == len(corpus) * len(dormer.TABLES)
        dormer.spark.write(envelopes, str(tmp_path / "store"))
    finally:
        spark.stop()
    assert killed
    complete(tmp_path / "store", corpus)


def write(corpus: list[str], store: Path) -> None:
    envelopes = _envelope.envelope(corpus)
    for table in dormer.TABLES:
        ds.write_dataset(
            _envelope.unpack(envelopes, table),
            store / table,
            format="parquet",
            partitioning=["date"],
            partitioning_flavor="hive",
        )


def test_stores_open_in_duckdb(corpus: list[str], tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    write(corpus, tmp_path)
    query = "select status, count(*) from read_parquet(?, hive_partitioning = true) group by 1 order by 1"
    counts = duckdb.execute(query, [f"{tmp_path}/runs/**/*.parquet"]).fetchall()
    assert counts == [("ok", len(corpus) - 2), ("rejected", 2)]


def test_stores_open_in_polars(corpus: list[str], tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    write(corpus, tmp_path)
    runs = polars.scan_parquet(f"{tmp_path}/runs/**/*.parquet", hive_partitioning=True)
    counts = runs.group_by("status").len().sort("status").collect().rows()
    assert counts == [("ok", len(corpus) - 2), ("rejected", 2)]
