"""A file of results: its bytes, its digest, and what its format is recognised by."""

import mmap
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from api.importers.results.imported_run import Format, ImportedFile
from api.importers.results.lenient_json import LenientDecoder
from events.decode_error_messages import DECODE_ERRORS
from events.errors import InvalidEvent
from events.json_check import half_surrogate_error
from ledger.errors import InvalidQuery
from ledger.regular_file import open_regular

ZIP = b"PK\x03\x04"
"""The first bytes of a ZIP file."""

HEAD_BYTES = 1 << 20
"""Bytes at the beginning of a file in which the first line of JSON Lines must end."""

_T = TypeVar("_T")
_any: LenientDecoder[Any] = LenientDecoder(Any)
_members = LenientDecoder(dict[str, msgspec.Raw])


class SourceFile:
    """A regular file that is mapped into memory while it is read. Errors: InvalidQuery, if it cannot be read."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.path = path
        self.name = str(path) if name is None else name
        try:
            with open_regular(path) as file:
                self.digest = file_digest(file, "sha256").hexdigest()
                size_bytes = file.seek(0, 2)
                self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size_bytes else b""
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise InvalidQuery("FILE", f"{self.name} cannot be read: {reason}.", "Name another.") from None

    @property
    def is_zip(self) -> bool:
        """Whether it is a ZIP file."""
        return self.data[: len(ZIP)] == ZIP

    @cached_property
    def members(self) -> dict[str, msgspec.Raw]:
        """The members of the JSON object that is the whole file; empty for other content. Values are not decoded."""
        if not self.is_zip:
            with suppress(*DECODE_ERRORS):
                return _members.decode(self.data)
        return {}

    @cached_property
    def first_line(self) -> dict[str, msgspec.Raw]:
        """The members of the JSON object on the first line; empty for other content, or where the line is too long."""
        with suppress(*DECODE_ERRORS):
            return _members.decode(self.data[:HEAD_BYTES].partition(b"\n")[0])
        return {}

    def check_json(self) -> None:
        """Refuse a file that is empty, or begins as JSON and is neither JSON nor lines of it. Errors: InvalidEvent."""
        if not self.data:
            raise self.fault("it is empty.", "Write the file again, or name another file.")
        if not self.first_line and self.data[:HEAD_BYTES].lstrip()[:1] in (b"{", b"["):
            try:
                _any.decode(self.data)
            except DECODE_ERRORS as error:
                half = half_surrogate_error(bytes(self.data))
                reason = str(error).rstrip(".") or "it is nested too deeply"
                detail = f"it is not JSON: {reason}." if half is None else half.detail
                raise self.fault(detail, "Write the file again, or name another file.") from None

    def decode(
        self, decoder: LenientDecoder[_T], data: "bytes | mmap.mmap | msgspec.Raw", wrong: str, advice: str
    ) -> _T:
        """Decode a part of the file. Errors: InvalidEvent, which says what is `wrong`, and the decoder's reason."""
        try:
            return decoder.decode(data)
        except DECODE_ERRORS as error:
            raise self.fault(f"{wrong}: {str(error) or 'it is nested too deeply'}.", advice) from None

    def result(self, format_: Format, program: str, program_version: str | None = None) -> ImportedFile:
        """Return the file without runs."""
        return ImportedFile(
            file=self.name,
            format=format_,
            program=program,
            program_version=program_version or None,
            source_digest=self.digest,
        )

    def fault(self, detail: str, advice: str, field: str | None = None) -> InvalidEvent:
        """Return the error of a file with wrong content; nothing of it is written."""
        return InvalidEvent(f"{self.name}: {detail}", advice, field=field)


class ResultsReader(NamedTuple):
    """One format: its name, the tool for people, how it is recognised by content, and the function that reads a file.

    `members` are those of its JSON, of which an object that lacks one is named as this format's.

    `read` raises InvalidEvent (`SourceFile.fault`) for a file that cannot be read as this format.
    """

    format: Format
    title: str
    recognizes: Callable[[SourceFile], bool]
    read: Callable[[SourceFile], ImportedFile]
    members: frozenset[str]
