"""Where the bytes of a trace come from: a path, a URL, bytes, or a binary file."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, cast

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO

PIECE = 1 << 20


class NotBinary(TypeError):
    """A file that was opened as text."""


@dataclass
class Input:
    """A trace to be read: a file that the command opens itself, or bytes that are piped to it."""

    uri: str
    path: str | None = None
    """The file, if it is on this machine."""
    stream: BinaryIO | None = None
    _sha256: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    n_bytes: int = 0

    def pieces(self) -> Iterator[bytes]:
        """The bytes of ``stream`` as they are piped, at most one MiB at a time."""
        assert self.stream is not None
        while piece := self.stream.read(PIECE):
            if isinstance(piece, str):
                raise NotBinary("expected a binary file, opened with 'rb', not as text")
            self._sha256.update(piece)
            self.n_bytes += len(piece)
            yield piece

    def may_stall(self) -> bool:
        """Whether reading may never end, as it can unless the trace is a local file or bytes."""
        return not (os.path.isfile(self.path) if self.path is not None else isinstance(self.stream, io.BytesIO))

    def drain(self) -> tuple[str, int]:
        """SHA-256 and size of the whole trace; what was not read yet is read now."""
        if self.path is not None:
            with open(self.path, "rb") as self.stream:
                _exhaust(self.pieces())
        else:
            _exhaust(self.pieces())
        return self._sha256.hexdigest(), self.n_bytes


def name_of(source: Source, uri: str | None) -> str:
    """The location of a trace, as in its row: for a local file, its absolute path."""
    if uri is not None:
        return uri
    if isinstance(source, (bytes, bytearray, memoryview)):
        return "bytes"
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        return name if "://" in name else os.path.abspath(name)
    named = getattr(source, "name", "file")
    return os.path.abspath(named) if isinstance(named, str) and os.path.isfile(named) else str(named)


@contextmanager
def opened(source: Source, uri: str | None) -> Iterator[Input]:
    """The trace, opened if necessary; a file that is opened here is also closed here.

    Raises ``TypeError`` for other types, ``OSError`` if a URL cannot be opened, ``ModuleNotFoundError`` if fsspec,
    which opens URLs, is not installed, and fsspec's own errors for unknown kinds of URLs.
    """
    uri = name_of(source, uri)
    if isinstance(source, (bytes, bytearray, memoryview)):
        yield Input(uri, stream=io.BytesIO(source))
    elif isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        if "://" not in name:
            yield Input(uri, path=name)
            return
        try:
            import fsspec
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"{name}: opening URLs requires fsspec: pip install 'dormer-trace[urls]'") from error

        file = fsspec.open(name, "rb")
        with ExitStack() as stack:
            try:
                stream = stack.enter_context(file)
            except OSError:
                raise
            except Exception as error:  # storage libraries raise their own errors
                raise OSError(f"{error}") from error
            yield Input(uri, stream=cast(BinaryIO, stream))
    elif hasattr(source, "read"):
        yield Input(uri, stream=source)
    else:
        raise TypeError(f"expected a path, a URL, bytes or a binary file, not {type(source).__name__}")


def _exhaust(pieces: Iterator[bytes]) -> None:
    for _ in pieces:
        pass
