"""Traces of our own: the sample that the page opens, and broken ones made of it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[2] / "core/src/sample/trace.json"


@pytest.fixture(scope="session")
def sample() -> Path:
    return SAMPLE


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """24 traces of one program, each another run, and two files that are none."""
    folder = tmp_path_factory.mktemp("corpus")
    trace = json.loads(SAMPLE.read_bytes())
    for run in range(24):
        trace["run"] = run  # so that no two have the same bytes
        (folder / f"run{run:02}.json.gz").write_bytes(gzip.compress(json.dumps(trace).encode(), mtime=0))
    (folder / "empty.json").write_bytes(b"")
    (folder / "page.json").write_bytes(b"<!DOCTYPE html><html><body>Sign in</body></html>")
    return sorted(str(path) for path in folder.iterdir())
