"""The tables of one trace, made by ``dormer tables`` in a process of its own."""

from __future__ import annotations

import io
import os
import subprocess
import tempfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import BinaryIO

import pyarrow as pa

from ._command import binary, environment
from ._source import Input, Source, opened

TABLES = ("runs", "steps", "ops", "kernels", "collectives", "findings", "warnings")
"""All tables, as ``docs/fleet.md`` describes them."""


@dataclass(frozen=True)
class Report(Mapping[str, pa.Table]):
    """All tables of one trace by name; those without data have no rows."""

    _tables: dict[str, pa.Table]

    def __getitem__(self, table: str) -> pa.Table:
        return self._tables[table]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    @property
    def status(self) -> str:
        """``ok``; ``partial``: cut or damaged, what could be read is there; ``rejected``: not a
        trace; ``killed`` and ``timeout``: ended by a limit or a signal."""
        return str(self._of_run("status"))

    @property
    def reason(self) -> str | None:
        """Why the status is not ``ok``, as a sentence."""
        reason = self._of_run("reason")
        return None if reason is None else str(reason)

    @property
    def run_id(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of the trace's bytes."""
        return str(self._of_run("run_id"))

    def _of_run(self, column: str) -> object:
        return self._tables["runs"][column][0].as_py()


def report(
    source: Source,
    *,
    tags: Mapping[str, str] | None = None,
    uri: str | None = None,
    timeout: float | None = None,
    memory_mb: int | None = None,
    gpu: str | None = None,
    perf_models: str | os.PathLike[str] | None = None,
    redact: bool = False,
) -> Report:
    """The tables of a trace.

    ``source`` is a path, a URL that fsspec can open, bytes, or a binary file. ``timeout`` is in
    seconds, ``memory_mb`` in MB (10⁶ bytes); without them there is no limit. ``gpu`` is a name that
    ``dormer gpus`` lists, or a JSON file; ``perf_models`` a TOML file; ``redact`` replaces names.

    A bad trace raises nothing: ``status`` and ``reason`` tell. Raises ``ValueError`` and ``TypeError``
    for wrong arguments.
    """
    options = _options(tags or {}, memory_mb, gpu, perf_models, redact)
    try:
        with opened(source, uri) as trace:
            return _report(trace, options, timeout)
    except OSError as error:
        name = uri or (os.fspath(source) if isinstance(source, (str, os.PathLike)) else "")
        return _without_tables(Input(name, stream=io.BytesIO()), options, "rejected", "io", f"{error}")


@cache
def schema(table: str) -> pa.Schema:
    """Columns of a table: names, types, and in their metadata a label and what they mean.

    Raises ``KeyError`` for what is none of ``TABLES``.
    """
    return _empty(()).get_schema(table)


class _Tables:
    """The archive of Arrow streams that ``dormer tables`` writes."""

    def __init__(self, archive: bytes) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(archive))

    def get_schema(self, table: str) -> pa.Schema:
        return pa.ipc.open_stream(self._archive.read(f"{table}.arrow")).schema

    def read(self) -> dict[str, pa.Table]:
        streams = {table: self._archive.read(f"{table}.arrow") for table in TABLES}
        return {table: pa.ipc.open_stream(stream).read_all() for table, stream in streams.items()}


def _options(
    tags: Mapping[str, str],
    memory_mb: int | None,
    gpu: str | None,
    perf_models: str | os.PathLike[str] | None,
    redact: bool,
) -> tuple[str, ...]:
    options: list[str] = []
    for key, value in tags.items():
        options += ["--tag", f"{key}={value}"]
    if memory_mb is not None:
        options += ["--memory-limit", str(memory_mb)]
    if gpu is not None:
        options += ["--gpu", gpu]
    if perf_models is not None:
        options += ["--perf-models", os.fspath(perf_models)]
    if redact:
        options.append("--redact")
    return tuple(options)


def _report(trace: Input, options: tuple[str, ...], timeout: float | None) -> Report:
    ended = _run(trace, options, timeout)
    if ended.is_late:
        return _without_tables(trace, options, "timeout", "timeout", f"not done after {timeout:g} s")
    if ended.code == 2:
        raise ValueError(ended.said)
    if ended.failed is not None:
        return _without_tables(trace, options, "rejected", "io", str(ended.failed))
    if ended.code != 0:
        how = f"signal {-ended.code}" if ended.code < 0 else f"exit code {ended.code}"
        reason = f"the process ended with {how}" + (f": {ended.said}" if ended.said else "")
        return _without_tables(trace, options, "killed", "killed", reason)
    return Report(_Tables(ended.printed).read())


@dataclass
class _Ended:
    """How a process ended."""

    code: int
    printed: bytes
    said: str
    is_late: bool
    failed: OSError | None
    """Why the trace could not be read to its end, where it is piped."""


def _run(trace: Input, options: tuple[str, ...], timeout: float | None) -> _Ended:
    arguments = [binary(), "tables", trace.path or "-", "--uri", trace.uri, *options]
    stdin = subprocess.DEVNULL if trace.path else subprocess.PIPE
    is_late = threading.Event()
    failures: list[OSError] = []
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(arguments, stdin=stdin, stdout=subprocess.PIPE, stderr=said, env=environment()) as process,
    ):

        def stop() -> None:
            is_late.set()
            process.kill()

        threads = [threading.Timer(timeout, stop)] if timeout is not None else []
        feeder = threading.Thread(target=_feed, args=(trace, process, failures))
        try:
            for thread in threads:
                thread.start()
            if process.stdin:
                feeder.start()
            assert process.stdout
            printed = process.stdout.read()
            code = process.wait()
            if process.stdin:
                feeder.join()
        finally:
            process.kill()  # nothing where it has ended
            for thread in threads:
                thread.cancel()
        said.seek(0)
        sentence = said.read().decode(errors="replace").strip()
    return _Ended(code, printed, sentence, is_late.is_set(), failures[0] if failures else None)


def _feed(trace: Input, process: subprocess.Popen[bytes], failures: list[OSError]) -> None:
    """Pipes the trace. A process that has ended reads no more, which is no failure of the trace."""
    assert process.stdin
    pieces = trace.pieces()
    try:
        while piece := next(pieces, None):
            try:
                process.stdin.write(piece)
            except OSError:
                return
    except OSError as error:
        failures.append(error)
        process.kill()
    finally:
        try:
            process.stdin.close()
        except OSError:
            pass


@cache
def _empty(options: tuple[str, ...]) -> _Tables:
    ended = _run(Input("", stream=io.BytesIO()), options, None)
    if ended.code == 2:
        raise ValueError(ended.said)
    return _Tables(ended.printed)


def _without_tables(trace: Input, options: tuple[str, ...], status: str, kind: str, reason: str) -> Report:
    """A report that has a row in ``runs`` alone: that of an empty trace, with what is known."""
    try:
        sha256, n_bytes = trace.drain()
    except OSError:
        sha256, n_bytes = None, None
    tables = _empty(options).read()
    known = {
        "status": status,
        "reason": reason,
        "reason_kind": kind,
        "uri": trace.uri,
        "run_id": sha256 and sha256[:16],
        "file_sha256": sha256,
        "file_bytes": n_bytes,
    }
    tables["runs"] = _replaced(tables["runs"], known)
    return Report(tables)


def _replaced(table: pa.Table, values: Mapping[str, object]) -> pa.Table:
    for name, value in values.items():
        at = table.schema.get_field_index(name)
        field = table.schema.field(at)
        table = table.set_column(at, field, pa.array([value], field.type))
    return table
