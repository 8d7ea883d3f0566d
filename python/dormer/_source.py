"""Where the bytes of a trace come from: a path, a URL, bytes, or a binary file."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, cast

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO

PIECE = 1 << 20


@dataclass
class Input:
    """A trace to be read: a file that the command opens itself, or bytes that are piped to it."""

    uri: str
    path: str | None = None
    """The file on this machine, where it is one."""
    stream: BinaryIO | None = None
    _sha256: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    n_bytes: int = 0

    def pieces(self) -> Iterator[bytes]:
        """The bytes of ``stream`` as they are piped, one MiB at most at a time."""
        assert self.stream is not None
        while piece := self.stream.read(PIECE):
            self._sha256.update(piece)
            self.n_bytes += len(piece)
            yield piece

    def drain(self) -> tuple[str, int]:
        """SHA-256 and size of the whole trace; what was not read yet is read now."""
        if self.path is not None:
            with open(self.path, "rb") as self.stream:
                _exhaust(self.pieces())
        else:
            _exhaust(self.pieces())
        return self._sha256.hexdigest(), self.n_bytes


@contextmanager
def opened(source: Source, uri: str | None) -> Iterator[Input]:
    """The trace, opened where it must be; what is opened here is closed here.

    Raises ``TypeError`` for what is none of the four, ``OSError`` where a URL cannot be opened.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        yield Input(uri or "bytes", stream=io.BytesIO(source))
    elif isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        if "://" not in name:
            yield Input(uri or name, path=name)
            return
        import fsspec

        with fsspec.open(name, "rb") as stream:
            yield Input(uri or name, stream=cast(BinaryIO, stream))
    elif hasattr(source, "read"):
        yield Input(uri or str(getattr(source, "name", "file")), stream=source)
    else:
        raise TypeError(f"a path, a URL, bytes or a binary file, not {type(source).__name__}")


def _exhaust(pieces: Iterator[bytes]) -> None:
    for _ in pieces:
        pass
