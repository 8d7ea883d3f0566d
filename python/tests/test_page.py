"""``dormer.show``: the page with a trace, as a notebook shows it."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

import dormer


@pytest.fixture(scope="module")
def page(sample: Path) -> dormer.Page:
    try:
        return dormer.show(sample, height=500)
    except dormer.CommandFailed as error:
        if "DORMER_PAGE" in str(error):
            pytest.skip("the command does not contain the page, and DORMER_PAGE is not set")
        raise


def test_a_notebook_gets_the_whole_page_in_a_frame(page: dormer.Page) -> None:
    frame = page._repr_html_()
    attributes = dict(re.findall(r'([\w-]+)="([^"]*)"', frame))
    assert attributes["sandbox"] == "allow-scripts allow-downloads"
    assert "height: 500px" in attributes["style"]
    assert html.unescape(attributes["srcdoc"]) == page.text


def test_the_page_holds_the_trace_and_asks_for_nothing(page: dormer.Page, tmp_path: Path) -> None:
    assert "connect-src 'none'" in page.text
    assert 'data-name="trace.json' in page.text
    assert page.save(tmp_path / "trace.html").read_text(encoding="utf-8") == page.text


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(dormer.CommandFailed):
        dormer.show(tmp_path / "none.json")
