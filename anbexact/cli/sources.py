"""Where a table comes from: a file or a stream, perhaps compressed, as bytes and as text.

A stream (standard input, a pipe, ``<(command)``) can be read only once, so it is kept in memory; a file is opened
again each time.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar

from anbexact.cli.messages import InputError, note

STANDARD_INPUT = "-"
DESCRIPTORS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Beginnings of paths that name what the process has open already."""

COMPRESSIONS: dict[str, tuple[bytes, Callable[..., Any]]] = {
    ".gz": (b"\x1f\x8b", gzip.open),
    ".bz2": (b"BZh", bz2.open),
    ".xz": (b"\xfd7zXZ\x00", lzma.open),
}
"""By extension: how such a file begins, and what opens it. Archives (``.zip``) are opened by their one member."""
PACKED_RATIO = 8
"""The factor by which compression is assumed to shorten a table."""
ZIP, ZSTANDARD = b"PK\x03\x04", b"\x28\xb5\x2f\xfd"
"""The first bytes of archives (and of Excel workbooks), and of files that are compressed with Zstandard."""

BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings by their marks. UTF-32 stands before UTF-16, whose little-endian mark is the beginning of its own."""
WESTERN = ("cp1252", "latin-1")
"""How text that is not UTF-8 is read: as Windows' Western European code page, or as Latin-1 if it has bytes that the
code page does not define."""

Found = TypeVar("Found")

READ_ERRORS = (
    ValueError, ImportError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error, lzma.LZMAError,
)  # fmt: skip
"""What reading a damaged file raises, in addition to `OSError`."""


class Source:
    """The bytes of a table, decompressed, as often as they are asked for.

    Attributes
    ----------
    label : str
        What messages call it.
    name : str
        Its name without the extension of a compression, or the name of the one member of an archive. Its extension
        determines the format.
    """

    def __init__(self, path: str) -> None:
        self.label = "standard input" if path in (STANDARD_INPUT, "/dev/stdin") else path
        self._path = path
        self._data: bytes | None = None
        if path == STANDARD_INPUT:
            if sys.stdin is None:
                raise InputError("there is no standard input: pass the path of a table")
            if sys.stdin.isatty():
                note("reading the table from standard input; end it with Ctrl-D")
            self._data = sys.stdin.buffer.read()
        elif path.startswith(DESCRIPTORS) or not (Path(path).is_file() or Path(path).is_dir()):
            self._data = Path(path).read_bytes()
        self._unpack = self._compression()
        self.name = self._path
        for extension in (*COMPRESSIONS, ".zip"):
            if self._path.lower().endswith(extension):
                self.name = self._path[: -len(extension)]
        if isinstance(self._unpack, str):
            self.name = self._unpack

    def open(self) -> IO[bytes]:
        """Return the decompressed bytes from their beginning, as a file that can seek."""
        file = self._open_packed()
        if isinstance(self._unpack, str):
            return zipfile.ZipFile(file).open(self._unpack)
        return file if self._unpack is None else self._unpack(file)

    def head(self, size: int = 1 << 16) -> bytes:
        """Return the first bytes."""
        with self.open() as file:
            return file.read(size)

    def text(self, encoding: str) -> io.TextIOWrapper:
        """Return the text from its beginning, without byte-order marks, its line ends as they are.

        There are two where a program has put its own in front of another one's.
        """
        file = io.TextIOWrapper(self.open(), encoding=encoding, newline="")
        try:
            beginning = 0
            while file.read(1) == "\ufeff":
                beginning = file.tell()
            file.seek(beginning)
        except UnicodeDecodeError:
            file.close()
            raise
        return file

    @property
    def size(self) -> int:
        """About how many bytes there are, decompressed."""
        packed = len(self._data) if self._data is not None else Path(self._path).stat().st_size
        return packed if self._unpack is None else PACKED_RATIO * packed

    @property
    def stamp(self) -> tuple[int, ...]:
        """Values that change when the file is written to; none for a stream."""
        if self._data is not None:
            return ()
        stat = Path(self._path).stat()
        return stat.st_ino, stat.st_size, stat.st_mtime_ns

    def _open_packed(self) -> IO[bytes]:
        return io.BytesIO(self._data) if self._data is not None else Path(self._path).open("rb")

    def _compression(self) -> Callable[[Any], Any] | str | None:
        """Return what decompresses the bytes; the name of the member if they are an archive; or None."""
        with self._open_packed() as file:
            start = file.read(8)
            if start.startswith(ZSTANDARD):
                raise InputError(f"{self.label} is compressed with Zstandard: decompress it first (zstd -d)")
            if start.startswith(ZIP):
                return self._member(file)
        return next((opened for magic, opened in COMPRESSIONS.values() if start.startswith(magic)), None)

    def _member(self, file: IO[bytes]) -> str | None:
        """Return the one member of an archive; None if the file is a workbook or another document."""
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
        if any(info.filename in ("[Content_Types].xml", "mimetype") for info in infos):
            return None
        members = [
            info
            for info in infos
            if not info.is_dir()
            and not info.filename.startswith("__MACOSX/")
            and not Path(info.filename).name.startswith(".")
        ]
        if len(members) != 1:
            names = ", ".join(info.filename for info in members[:10])
            raise InputError(
                f"{self.label} must contain exactly one file, not {len(members)} ({names}): unpack the table"
            )
        if members[0].flag_bits & 1:
            raise InputError(f"{self.label} needs a password: unpack it first")
        return members[0].filename


def decoded(source: Source, wanted: str | None, read: Callable[[str], Found]) -> Found:
    """Return the result of ``read``, called with the encoding of the source.

    The encoding is the one that the user wants, that of a byte-order mark, UTF-8, or, with a note, a Western one.

    Raises
    ------
    InputError
        If the text is not in the encoding that was wanted or marked, or if only some of its lines are UTF-8.
    """
    head = source.head(4)
    marked = next((encoding for mark, encoding in BYTE_ORDER_MARKS.items() if head.startswith(mark)), None)
    try:
        asked = wanted and codecs.lookup(wanted).name
    except LookupError:
        raise InputError(
            f"--encoding {wanted} is unknown: use a name such as utf-8, utf-16, cp1252, latin-1 or shift_jis"
        ) from None
    tried = asked or marked or "utf-8-sig"
    if marked is not None and tried.startswith(marked[:5]):
        tried = marked
    try:
        return read(tried)
    except UnicodeDecodeError:
        if asked or marked:
            name = tried.removesuffix("-sig")
            line = _first_bad_line(source, name)
            raise InputError(f"cannot read {source.label}: it is not {name} text, first in line {line}") from None
    return read(_western(source))


def _western(source: Source) -> str:
    """Return the Western encoding in which to read text that is not UTF-8, with a note."""
    good = bad = 0
    undefined = False
    with source.open() as file:
        for number, line_bytes in enumerate(file, start=1):
            if line_bytes.isascii():
                continue
            try:
                line_bytes.decode("utf-8")
                good = good or number
            except UnicodeDecodeError:
                bad = bad or number
            undefined = undefined or any(byte in line_bytes for byte in b"\x81\x8d\x8f\x90\x9d")
    if good:
        raise InputError(
            f"cannot read {source.label}: it mixes encodings, since line {good} is UTF-8 and line {bad} is not; "
            "save it as UTF-8, or pass --encoding latin-1, which reads any bytes but garbles those lines"
        )
    encoding = WESTERN[undefined]
    note(
        f"{source.label} is not UTF-8 (line {bad}) and is read as {encoding}; use --encoding to choose another "
        "encoding"
    )
    return encoding


def _first_bad_line(source: Source, encoding: str) -> int:
    """Return the number of the first line that cannot be decoded."""
    with source.open() as file:
        data = file.read()
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        data = data[: error.start]
    return data.decode(encoding, "ignore").count("\n") + 1
