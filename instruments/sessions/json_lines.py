"""Read files of JSON lines that are written by others, while they grow, and with the damage that such files have.

A record may be cut in two, stand behind another one on the same line, or have zero bytes in it. What can be recovered
is, and what is lost is counted. A last line without a line feed may still be written, so it is left for later.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import IO, Any, Final, TypeVar

import msgspec

_Line = TypeVar("_Line")

LINE_BYTES_MAX: Final = 64 * 1024 * 1024
"""A longer line is skipped and counted."""

_begins = re.compile(r'\{"(?:parentUuid|type|timestamp)"')
"""Where another record begins on a line of which the first one is cut."""

_json = json.JSONDecoder()

decode_document = msgspec.json.Decoder(dict[str, Any]).decode
"""Decode a JSON object. Errors: msgspec.DecodeError."""


class FileLines(msgspec.Struct):
    """How many lines a file has, and what was wrong with some."""

    lines: int = 0
    """Complete lines."""
    size_bytes: int = 0
    """The bytes up to the end of the last one."""
    repaired: int = 0
    """Damaged lines of which every record could be read."""
    lost: int = 0
    """Records, or parts of some, that could not be read."""
    too_long: int = 0
    """Lines of more than 64 MiB, which were skipped."""
    unfinished: bool = False
    """Whether the file ends in the middle of a line."""


def read_lines(stream: IO[bytes], decode: Callable[[bytes], _Line], counts: FileLines) -> Iterator[_Line]:
    """Yield the records of a file in their order, and count its lines. `decode` raises ValueError for damage."""
    while line := stream.readline(LINE_BYTES_MAX):
        if not line.endswith(b"\n"):
            if len(line) < LINE_BYTES_MAX:
                counts.unfinished = True
                return
            counts.lines += 1
            counts.too_long += 1
            counts.size_bytes += len(line) + _skip_line(stream)
            continue
        counts.lines += 1
        counts.size_bytes += len(line)
        try:
            yield decode(line)
        except (ValueError, RecursionError):
            yield from _recover(line, decode, counts)


def read_document(stream: IO[bytes], counts: FileLines) -> dict[str, Any]:
    """Return the object that a file is, which counts as a line. Errors: msgspec.DecodeError."""
    data = stream.read()
    document = decode_document(data)
    counts.lines += 1
    counts.size_bytes += len(data)
    return document


def _skip_line(stream: IO[bytes]) -> int:
    """Skip the rest of a line, and return how many bytes it has."""
    skipped = 0
    while part := stream.readline(LINE_BYTES_MAX):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


def _recover(line: bytes, decode: Callable[[bytes], _Line], counts: FileLines) -> Iterator[_Line]:
    """Yield the records that can be read of a damaged line."""
    text = line.decode(errors="replace").replace("\0", "").strip()
    at, lost = 0, int(not text and b"\0" in line)
    while at < len(text):
        try:
            _, end = _json.raw_decode(text, at)
            yield decode(text[at:end].encode())
            at = len(text) - len(text[end:].lstrip())
        except (ValueError, RecursionError):
            lost += 1
            begin = _begins.search(text, at + 1)
            at = len(text) if begin is None else begin.start()
    counts.lost += lost
    counts.repaired += bool(text) and not lost
