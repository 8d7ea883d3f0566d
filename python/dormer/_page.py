"""``dormer.show``: a trace on Dormer's page, in a notebook, without any server."""

from __future__ import annotations

import html
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ._command import printed


@dataclass(frozen=True)
class Page:
    """The page as one file that contains a trace and its report. A notebook shows it if it is the last
    value of a cell."""

    text: str
    """The HTML file. It makes no network requests."""
    height: int = 800

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the file, to be opened by a double click or sent to somebody."""
        path = Path(path)
        path.write_text(self.text, encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        # In a separate frame, styles and scripts of the notebook and of the page do not affect each other.
        return (
            '<iframe sandbox="allow-scripts allow-downloads" title="Dormer" loading="lazy" '
            f'style="width: 100%; height: {self.height}px; border: 0" srcdoc="{html.escape(self.text)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Page({len(self.text) / 1e6:.1f} MB; save(path) writes it)"


def show(
    trace: str | os.PathLike[str],
    *,
    gpu: str | None = None,
    redact: bool = False,
    height: int = 800,
) -> Page:
    """The page with a trace, to be shown in a notebook or saved as one HTML file.

    ``gpu`` is a name that ``dormer gpus`` lists, or a JSON file; ``redact`` replaces names; ``height`` is that of the
    frame in pixels. The notebook stores the page: 4.4 MB plus the trace. Raises ``CommandFailed`` if the trace cannot
    be read or the command does not contain the page.
    """
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["report", os.fspath(trace), "--format", "page", "--output", folder]
        if gpu is not None:
            arguments += ["--gpu", gpu]
        if redact:
            arguments.append("--redact")
        printed(arguments)
        (file,) = Path(folder).glob("*.html")
        return Page(file.read_text(encoding="utf-8"), height)
