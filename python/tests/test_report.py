"""``dormer.report``: the same tables from wherever the bytes come, and a row for every bad trace."""

from __future__ import annotations

import io
import threading
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
    class Breaking(io.RawIOBase):
        def read(self, n: int = -1) -> bytes:
            raise OSError("connection lost")

    for source in (tmp_path / "none.json", "memory://none.json", Breaking()):
        report = dormer.report(source)
        assert (report.status, report["runs"]["reason_kind"][0].as_py()) == ("rejected", "io")


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
