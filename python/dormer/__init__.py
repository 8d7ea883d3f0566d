"""Where the GPU time of PyTorch profiler traces went.

``report`` makes the tables of one trace, ``job`` reads the ranks of one job, ``compare`` holds two
traces against each other, ``show`` is the page with a trace in a notebook. The work is done by the command ``dormer`` that the wheel carries, each
trace in a process of its own. ``dormer.ray``, ``dormer.spark`` and ``dormer.dask`` run ``report``
on clusters.
"""

from importlib import metadata as _metadata

from ._command import CommandFailed, binary, compare, job
from ._page import Page, show
from ._report import TABLES, Report, report, schema

__all__ = ["TABLES", "CommandFailed", "Page", "Report", "binary", "compare", "job", "report", "schema", "show"]

try:
    __version__ = _metadata.version("dormer-trace")
except _metadata.PackageNotFoundError:  # from a checkout, with DORMER_BINARY
    __version__ = "0"
