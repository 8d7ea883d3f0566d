"""Where the GPU time of PyTorch profiler traces went.

``report`` makes the tables of one trace, ``job`` reads the ranks of one job, ``compare`` compares two
traces, ``show`` shows a trace on the page in a notebook. The command ``dormer`` in the wheel does the work, each
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
