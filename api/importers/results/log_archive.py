"""Read the entries of a `.eval` file, which is a ZIP file with entries in JSON, compressed by Zstandard or deflate.

Python opens entries of ZIP method 93 (Zstandard) only from 3.14 on: before, `zstandard` decompresses them. Nothing is
unpacked to the disk, and one entry at a time is in memory: sizes are bounded, whatever the file says of them.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from api.errors import ExtraMissing
from api.importers.results.source_file import SourceFile

ZSTANDARD = 93
"""The compression method of a ZIP entry."""

ENTRY_BYTES_MAX = 512 * 1024 * 1024
"""Bytes of one entry, decompressed: one sample with its whole transcript."""

TOTAL_BYTES_MAX = 64 * 1024**3
"""Bytes of all entries that are read, decompressed."""

ENTRIES_MAX = 1_000_000

_LOCAL_HEADER = 30
"""Bytes of the header before an entry's name."""

_ENCRYPTED = 1


class LogArchive:
    """The entries of a ZIP file, by name; of several with one name, the last. Errors: InvalidEvent."""

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._read_bytes = 0
        try:
            with ZipFile(source.path) as archive:
                entries = archive.infolist()
        except (BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise source.fault(f"it is not a complete ZIP file ({error}).", "Copy it again.") from None
        if len(entries) > ENTRIES_MAX:
            raise source.fault(f"it has {len(entries):,} entries; at most {ENTRIES_MAX:,} are read.", "Split the log.")
        self._entries = {entry.filename: entry for entry in entries}

    def names(self, folder: str) -> Iterator[str]:
        """Yield the names of the JSON entries of a folder, sorted."""
        yield from sorted(name for name in self._entries if name.startswith(folder) and name.endswith(".json"))

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def read(self, name: str) -> bytes:
        """Return the bytes of an entry, checked. Errors: InvalidEvent; ExtraMissing, without Zstandard."""
        entry = self._entries[name]
        if entry.file_size > ENTRY_BYTES_MAX:
            detail = f"{name} has {entry.file_size:,} bytes; at most {ENTRY_BYTES_MAX:,} are read."
            raise self._source.fault(detail, "Leave the sample out.")
        self._read_bytes += entry.file_size
        if self._read_bytes > TOTAL_BYTES_MAX:
            raise self._source.fault(f"it has more than {TOTAL_BYTES_MAX:,} bytes, unpacked.", "Split the log.")
        data = self._decompress(entry)
        if len(data) != entry.file_size or zlib.crc32(data) != entry.CRC:
            raise self._source.fault(f"{name} is damaged: its size or checksum is wrong.", "Copy the file again.")
        return data

    def _decompress(self, entry: ZipInfo) -> bytes:
        """Return at most one byte more than the entry is said to have."""
        start = entry.header_offset
        header = self._source.data[start : start + _LOCAL_HEADER]
        if len(header) < _LOCAL_HEADER or entry.flag_bits & _ENCRYPTED:
            reason = "is encrypted" if entry.flag_bits & _ENCRYPTED else "is cut off"
            raise self._source.fault(f"{entry.filename} {reason}.", "Copy the file again.")
        begin = (
            start + _LOCAL_HEADER + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        )
        packed, limit = self._source.data[begin : begin + entry.compress_size], entry.file_size + 1
        try:
            if entry.compress_type == ZIP_STORED:
                return packed[:limit]
            if entry.compress_type == ZIP_DEFLATED:
                return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, limit)
            if entry.compress_type == ZSTANDARD:
                return _zstd(self._source.name)(packed, limit)
        except (zlib.error, EOFError) as error:
            raise self._source.fault(f"{entry.filename} is damaged: {error}.", "Copy the file again.") from None
        except Exception as error:
            if type(error).__name__ != "ZstdError":
                raise
            raise self._source.fault(f"{entry.filename} is damaged: {error}.", "Copy the file again.") from None
        detail = f"{entry.filename} is compressed by method {entry.compress_type}, which is not known."
        raise self._source.fault(detail, "Convert the log: inspect log convert --to json.")


def _zstd(name: str) -> Callable[[bytes, int], bytes]:
    """Return a function that decompresses at most so many bytes. Errors: ExtraMissing."""
    with suppress(ImportError):
        standard = import_module("compression.zstd")
        return lambda packed, limit: bytes(standard.ZstdDecompressor().decompress(packed, limit))
    with suppress(ImportError):
        package = import_module("zstandard")
        return lambda packed, limit: bytes(
            package.ZstdDecompressor().stream_reader(packed, read_across_frames=True).read(limit)
        )
    raise ExtraMissing(
        f"{name} is compressed by Zstandard, which this Python cannot read.",
        "Install it: pip install 'tallystick[inspect]'. "
        "Or convert the log: inspect log convert --to json --output-dir DIR FILE, and import the .json file.",
        written=False,
    )
