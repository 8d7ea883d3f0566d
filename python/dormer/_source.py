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
    """The file on this machine, where it is one."""
    stream: BinaryIO | None = None
    _sha256: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    n_bytes: int = 0

    def pieces(self) -> Iterator[bytes]:
        """The bytes of ``stream`` as they are piped, one MiB at most at a time."""
        assert self.stream is not None
        while piece := self.stream.read(PIECE):
            if isinstance(piece, str):
                raise NotBinary("expected a binary file, opened with 'rb', not as text")
            self._sha256.update(piece)
            self.n_bytes += len(piece)
            yield piece

    def may_stall(self) -> bool:
        """Whether reading may never end: neither of a file on this machine nor of bytes."""
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
    """Where a trace comes from, as its row says it: of a file on this machine the whole path."""
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
    """The trace, opened where it must be; what is opened here is closed here.

    Raises ``TypeError`` for what is none of the four, ``OSError`` where a URL cannot be opened,
    ``ModuleNotFoundError`` where fsspec is not installed, which opens URLs, and what it raises where it knows
    nothing of such URLs.
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
            except Exception as error:  # storages have errors of their own
                raise OSError(f"{error}") from error
            yield Input(uri, stream=cast(BinaryIO, stream))
    elif hasattr(source, "read"):
        yield Input(uri, stream=source)
    else:
        raise TypeError(f"expected a path, a URL, bytes or a binary file, not {type(source).__name__}")


def _exhaust(pieces: Iterator[bytes]) -> None:
    for _ in pieces:
        pass
