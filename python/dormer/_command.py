"""The command ``dormer``: where it is, how it is started, and what it prints as JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class CommandFailed(RuntimeError):
    """``dormer`` ended with an error; its message is the sentence that the command printed."""


@cache
def binary() -> str:
    """The path of the command: ``DORMER_BINARY`` if it is set, else the one that was installed
    with this module, else the first on ``PATH``.

    Raises ``FileNotFoundError`` if there is none.
    """
    given = os.environ.get("DORMER_BINARY")
    name = "dormer" + (sysconfig.get_config_var("EXE") or "")
    beside_module = Path(__file__).parent.parent / "bin"  # pip install --target
    folders = [sysconfig.get_path("scripts"), str(beside_module)]
    folders.append(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")))
    installed = [str(Path(folder, name)) for folder in folders]
    for path in [given] if given else [*installed, shutil.which("dormer")]:
        if path and os.access(path, os.X_OK):
            return path
    raise FileNotFoundError(given or f"the command dormer is not in {', '.join(folders)}, nor on PATH")


def environment() -> dict[str, str]:
    """The environment of the command: only what it needs, so that it sees no tokens or keys. ``DORMER_PAGE`` names
    a built page for a command that does not contain one."""
    kept = ("PATH", "LANG", "TMPDIR", "DORMER_PAGE")
    if sys.platform == "win32":
        kept += ("SYSTEMROOT", "TEMP")
    return {name: os.environ[name] for name in kept if name in os.environ}


def job(paths: Paths, *, output: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """``job.json`` of the ranks of one job: traces, digests, or folders of them.

    With ``output``, all files of the job are also written into that folder. Raises
    ``CommandFailed`` if no file is a rank of a job.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    arguments = ["job", *(os.fspath(path) for path in given)]
    if output is not None:
        printed([*arguments, "--output", os.fspath(output)])
        return _read(Path(output, "job.json"))
    return _parsed([*arguments, "--format", "json"])


def compare(
    reference: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    gpu: str | None = None,
    output: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """``comparison.json``: where ``target`` is slower or faster than ``reference``.

    With ``output``, all files of the comparison are also written into that folder. Raises
    ``CommandFailed`` if one of the traces cannot be read.
    """
    arguments = ["compare", "--reference", os.fspath(reference), os.fspath(target)]
    if gpu is not None:
        arguments += ["--gpu", gpu]
    if output is not None:
        printed([*arguments, "--output", os.fspath(output)])
        return _read(Path(output, "comparison.json"))
    return _parsed([*arguments, "--format", "json"])


def printed(arguments: list[str]) -> bytes:
    """The standard output of the command. Raises ``CommandFailed`` if it ends with an error."""
    done = subprocess.run([binary(), *arguments], capture_output=True, env=environment(), check=False)
    if done.returncode != 0:
        message = done.stderr.decode(errors="replace").strip()
        raise CommandFailed(message or f"dormer ended with exit code {done.returncode}")
    return done.stdout


def _parsed(arguments: list[str]) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(printed(arguments))
    return parsed


def _read(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(path.read_bytes())
    return read
