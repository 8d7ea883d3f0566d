"""``dormer.report``: the same tables from wherever the bytes come, and a row for every bad trace."""

from __future__ import annotations

import io
import re
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

import dormer


def comparable(report: dormer.Report) -> dict[str, pa.Table]:
    """Without what differs from one reading to the next."""
    differing = {"uri", "modified", "ingested", "analysis_ns"}
    return {name: table.drop_columns(list(differing & set(table.column_names))) for name, table in report.items()}


def test_a_path_bytes_a_file_and_a_url_give_the_same_tables(sample: Path) -> None:
    of_path = dormer.report(sample)
    assert of_path.status == "ok"
    assert of_path["ops"].num_rows > 0
    content = sample.read_bytes()
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://traces/sample.json", "wb") as file:
        file.write(content)
    for source in (str(sample), content, io.BytesIO(content), "memory://traces/sample.json"):
        assert comparable(dormer.report(source)) == comparable(of_path)


def test_every_report_has_every_table_with_its_schema(sample: Path) -> None:
    for report in (dormer.report(sample), dormer.report(b"")):
        assert tuple(report) == dormer.TABLES
        for name, table in report.items():
            assert table.schema.equals(dormer.schema(name))
    of_ops = dormer.schema("ops")
    assert of_ops.field("kernel_ns").type == pa.int64()
    assert {b"label", b"doc"} <= set(of_ops.field("kernel_ns").metadata)
    with pytest.raises(KeyError):
        dormer.schema("no such table")


def test_tags_and_uri_are_those_given(sample: Path) -> None:
    run = dormer.report(sample, tags={"build": "b07", "team": "a=b"}, uri="s3://bucket/x.json")["runs"]
    assert dict(run["tags"][0].as_py()) == {"build": "b07", "team": "a=b"}
    assert run["uri"][0].as_py() == "s3://bucket/x.json"


def test_a_place_on_this_machine_is_a_whole_path_and_with_redact_a_hash(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.chdir(sample.parent)
    assert dormer.report(sample.name)["runs"]["uri"][0].as_py() == str(sample.resolve())
    for source in (sample.name, "none.json", "memory://secret/none.json"):
        run = dormer.report(source, redact=True)["runs"]
        assert re.fullmatch("file_[0-9a-f]{16}", run["uri"][0].as_py())
        assert "none.json" not in str(run["reason"][0].as_py())


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "empty"),
        (b"<!DOCTYPE html><html><body>Sign in</body></html>", "web_page"),
        (b'{"a": 1}', "no_trace_events"),
        (b"\x1f\x8b broken", "broken_gzip"),
    ],
)
def test_a_bad_trace_is_a_row_with_its_reason(content: bytes, kind: str) -> None:
    report = dormer.report(content)
    assert (report.status, report["runs"]["reason_kind"][0].as_py()) == ("rejected", kind)
    assert report.reason
    assert report["ops"].num_rows == 0


def test_what_cannot_be_opened_is_a_row(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")

    class Breaking(io.RawIOBase):
        def read(self, n: int = -1) -> bytes:
            raise OSError("connection lost")

    class OfAStorage(Breaking):
        def read(self, n: int = -1) -> bytes:
            raise RuntimeError("no credentials")

    sources = (tmp_path / "none.json", "memory://none.json", "memory://none2.json", Breaking(), OfAStorage())
    runs = [dormer.report(source)["runs"] for source in sources]
    for run in runs:
        assert (run["status"][0].as_py(), run["reason_kind"][0].as_py()) == ("rejected", "io")
        assert (run["file_sha256"][0].as_py(), run["file_bytes"][0].as_py()) == (None, None)
    # The place tells them apart, as there are no bytes to do it.
    places = {run["run_id"][0].as_py() for run in runs}
    assert None not in places and len(places) == 4, "two file objects have no name"


def test_a_url_without_what_opens_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'dormer-trace\[urls\]'"):
        dormer.report("memory://none.json")


def test_a_file_that_was_opened_as_text_raises(sample: Path) -> None:
    with sample.open() as file, pytest.raises(TypeError, match="binary file"):
        dormer.report(file)  # type: ignore[arg-type]


def test_a_read_that_stalls_does_not_hold_up_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dormer._report.JOIN_S", 0.1)
    goes_on = threading.Event()

    class Stalling(io.RawIOBase):
        def read(self, n: int = -1) -> bytes:
            goes_on.wait(60)
            return b""

    begun = time.monotonic()
    report = dormer.report(Stalling(), timeout=0.2)
    took = time.monotonic() - begun
    goes_on.set()
    assert (report.status, report["runs"]["file_sha256"][0].as_py()) == ("timeout", None)
    assert took < 30


def test_a_limit_holds_for_the_trace_and_not_for_its_row() -> None:
    report = dormer.report(large_trace(100_000), memory_mb=1)
    assert report.status == "killed"


def test_rows_that_are_made_again_can_keep_their_time(sample: Path) -> None:
    pytest.importorskip("fsspec")
    for source in (sample, "memory://none.json"):
        for name, table in dormer.report(source, ingested_ns=1_751_410_836_000_000_000).items():
            times = table["ingested"].cast(pa.int64()).unique().to_pylist()
            assert times in ([], [1_751_410_836_000_000_000]), name


def test_a_trace_that_takes_too_long_or_too_much_memory_is_a_row(sample: Path) -> None:
    large = large_trace(500_000)
    late = dormer.report(large, timeout=0.01)
    assert (late.status, late["runs"]["file_bytes"][0].as_py()) == ("timeout", len(large))
    killed = dormer.report(large, memory_mb=50)
    assert killed.status == "killed"
    assert killed.run_id == late.run_id
    assert dormer.report(sample, timeout=60, memory_mb=2_000).status == "ok"


def test_wrong_arguments_raise(sample: Path) -> None:
    with pytest.raises(ValueError, match="no such GPU"):
        dormer.report(sample, gpu="no such GPU")
    with pytest.raises(TypeError):
        dormer.report(3)  # type: ignore[arg-type]


def test_threads_share_nothing(sample: Path) -> None:
    rows: list[int] = []
    threads = [threading.Thread(target=lambda: rows.append(dormer.report(sample)["ops"].num_rows)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows == [dormer.report(sample)["ops"].num_rows] * 8


def test_the_command_sees_none_of_the_variables_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    from dormer import _command

    assert "AWS_SECRET_ACCESS_KEY" not in _command.environment()


def test_compare_and_job_give_json(sample: Path, tmp_path: Path) -> None:
    compared = dormer.compare(sample, sample, output=tmp_path)
    assert compared == dormer.compare(sample, sample)
    assert (tmp_path / "comparison.json").is_file()
    with pytest.raises(dormer.CommandFailed):
        dormer.job([tmp_path / "comparison.json"])


def large_trace(n_events: int) -> bytes:
    """Events with names of their own, so that each of them takes memory."""
    events = (f'{{"ph":"X","cat":"cpu_op","name":"op{n}","pid":1,"tid":1,"ts":{n},"dur":1}}' for n in range(n_events))
    return ('{"traceEvents":[' + ",".join(events) + "]}").encode()
