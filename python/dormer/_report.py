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
from typing import IO

import pyarrow as pa

from ._command import binary, environment
from ._source import Input, NotBinary, Source, name_of, opened

TABLES = ("runs", "steps", "ops", "kernels", "collectives", "findings", "warnings")
"""The names of all tables; ``docs/tables.md`` describes their columns."""


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
        """``ok``; ``partial``: cut, damaged or more than one trace, what could be read is there;
        ``rejected``: not a trace; ``killed`` and ``timeout``: ended by a limit or a signal."""
        return str(self._of_run("status"))

    @property
    def reason(self) -> str | None:
        """Why the status is not ``ok``, as a sentence."""
        reason = self._of_run("reason")
        return None if reason is None else str(reason)

    @property
    def run_id(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of the trace's bytes; if they could not be
        read, a hash of its location."""
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
    ingested_ns: int | None = None,
) -> Report:
    """The tables of a trace.

    ``source`` is a path, a URL that fsspec can open, bytes, or a binary file. ``timeout`` is in
    seconds, ``memory_mb`` in MB (10⁶ bytes); without them there is no limit. ``gpu`` is a name that
    ``dormer gpus`` lists, or a JSON file; ``perf_models`` a TOML file; ``redact`` replaces names, and the
    location by a hash. ``ingested_ns`` is the time recorded in the rows, in nanoseconds since 1970, instead of the
    current time: rows that are made again then equal the first ones.

    A trace that cannot be read does not raise: check ``status`` and ``reason``. Raises ``ValueError`` and ``TypeError``
    for wrong arguments.
    """
    options = _options(tags or {}, gpu, perf_models, redact, ingested_ns)
    try:
        with opened(source, uri) as trace:
            return _report(trace, options, timeout, memory_mb)
    except OSError as error:
        return _unreadable(name_of(source, uri), options, error)


@cache
def schema(table: str) -> pa.Schema:
    """Columns of a table: names, types, and in their metadata a label and what they mean.

    Raises ``KeyError`` for a name that is not in ``TABLES``.
    """
    return _tables_of_missing_file().get_schema(table)


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
    gpu: str | None,
    perf_models: str | os.PathLike[str] | None,
    redact: bool,
    ingested_ns: int | None,
) -> tuple[str, ...]:
    options: list[str] = []
    for key, value in tags.items():
        options += ["--tag", f"{key}={value}"]
    if gpu is not None:
        options += ["--gpu", gpu]
    if perf_models is not None:
        options += ["--perf-models", os.fspath(perf_models)]
    if redact:
        options.append("--redact")
    if ingested_ns is not None:
        options += ["--ingested", str(ingested_ns)]
    return tuple(options)


def _report(trace: Input, options: tuple[str, ...], timeout: float | None, memory_mb: int | None) -> Report:
    limit = () if memory_mb is None else ("--memory-limit", str(memory_mb))
    ended = _run(trace, (*options, *limit), timeout)
    if isinstance(ended.failed, NotBinary):
        raise ended.failed
    if ended.is_late:
        reason = f"not done after {timeout:g} s"
        return _without_tables(trace.uri, options, "timeout", "timeout", reason, _sha256_and_size(trace, ended))
    if ended.code == 2:
        raise ValueError(ended.message)
    if ended.failed is not None:
        return _unreadable(trace.uri, options, ended.failed)
    if ended.code != 0:
        how = f"signal {-ended.code}" if ended.code < 0 else f"exit code {ended.code}"
        reason = f"the process ended with {how}" + (f": {ended.message}" if ended.message else "")
        return _without_tables(trace.uri, options, "killed", "killed", reason, _sha256_and_size(trace, ended))
    return Report(_Tables(ended.printed).read())


def _sha256_and_size(trace: Input, ended: _Ended) -> tuple[str, int] | None:
    """SHA-256 and size of a trace if it can be read to its end; one that has stalled may stall again."""
    if ended.is_stuck or trace.may_stall() and (ended.is_late or trace.path is not None):
        return None
    try:
        return trace.drain()
    except Exception:  # storage libraries raise their own errors
        return None


@dataclass
class _Ended:
    """How a process ended."""

    code: int
    printed: bytes
    message: str
    is_late: bool
    is_stuck: bool
    """Whether a piped trace is still being read."""
    failed: Exception | None
    """Why a piped trace could not be read to its end."""


JOIN_S = 5.0
"""How long to wait for the current piece of a trace after the command has ended."""


def _run(trace: Input, options: tuple[str, ...], timeout: float | None) -> _Ended:
    arguments = [binary(), "tables", trace.path or "-", "--uri", trace.uri, *options]
    stdin = subprocess.DEVNULL if trace.path else subprocess.PIPE
    is_late = threading.Event()
    failures: list[Exception] = []
    with (
        tempfile.TemporaryFile() as messages,
        subprocess.Popen(arguments, stdin=stdin, stdout=subprocess.PIPE, stderr=messages, env=environment()) as process,
    ):

        def stop() -> None:
            is_late.set()
            process.kill()

        threads = [threading.Timer(timeout, stop)] if timeout is not None else []
        feeder = threading.Thread(target=_feed, args=(trace, process, failures), daemon=True)
        try:
            for thread in threads:
                thread.start()
            if process.stdin:
                feeder.start()
            assert process.stdout
            printed = process.stdout.read()
            code = process.wait()
            if process.stdin:
                feeder.join(JOIN_S)
                _close(process.stdin)
        finally:
            process.kill()  # does nothing if it has ended
            for thread in threads:
                thread.cancel()
        messages.seek(0)
        message = messages.read().decode(errors="replace").strip()
    failed = failures[0] if failures else None
    return _Ended(code, printed, message, is_late.is_set(), feeder.is_alive(), failed)


def _feed(trace: Input, process: subprocess.Popen[bytes], failures: list[Exception]) -> None:
    """Pipes the trace. That a process has ended and reads no more is not a failure of the trace."""
    assert process.stdin
    pieces = trace.pieces()
    try:
        while piece := next(pieces, None):
            try:
                process.stdin.write(piece)
            except OSError:
                return
    except Exception as error:  # storage libraries raise their own errors
        failures.append(error)
        process.kill()
    finally:
        _close(process.stdin)


def _close(pipe: IO[bytes]) -> None:
    """Closes a pipe that may be closed already, or whose reader has ended."""
    try:
        pipe.close()
    except OSError:
        pass


def _tables_of_missing_file(uri: str = "", options: tuple[str, ...] = ()) -> _Tables:
    """The tables of a file that does not exist: only a row in ``runs``."""
    with tempfile.TemporaryDirectory() as folder:
        ended = _run(Input(uri, path=os.path.join(folder, "none")), options, None)
    if ended.code == 2:
        raise ValueError(ended.message)
    return _Tables(ended.printed)


def _without_tables(
    uri: str, options: tuple[str, ...], status: str, kind: str, reason: str, content: tuple[str, int] | None = None
) -> Report:
    """A report that only has a row in ``runs``. ``content``: SHA-256 and size of the trace, if known."""
    tables = _tables_of_missing_file(uri, options).read()
    known: dict[str, object] = {"status": status, "reason": reason, "reason_kind": kind}
    if content is not None:
        sha256, n_bytes = content
        known |= {"run_id": sha256[:16], "file_sha256": sha256, "file_bytes": n_bytes}
    tables["runs"] = _replaced(tables["runs"], known)
    return Report(tables)


def _unreadable(uri: str, options: tuple[str, ...], error: Exception) -> Report:
    """The report of a trace that could not be read. With ``--redact``, its reason must not contain the location, which
    the messages of systems and storages do."""
    reason = f"{error}"
    if "--redact" in options:
        reason = getattr(error, "strerror", None) or type(error).__name__
    return _without_tables(uri, options, "rejected", "io", reason)


def _replaced(table: pa.Table, values: Mapping[str, object]) -> pa.Table:
    for name, value in values.items():
        at = table.schema.get_field_index(name)
        field = table.schema.field(at)
        table = table.set_column(at, field, pa.array([value], field.type))
    return table
