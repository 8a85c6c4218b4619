"""Detect the format of a table: CSV, JSON Lines or a JSON array, its encoding, and the delimiter of a CSV file."""

import codecs
import csv
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import msgspec

from events.decode_error_messages import DECODE_ERRORS
from ledger.errors import InvalidQuery

TableKind = Literal["csv", "json lines", "json array"]

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
"""The delimiters that are detected, and their names."""

SUFFIXES: dict[str, TableKind] = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".jsonl": "json lines", ".ndjson": "json lines", ".json": "json array",
}  # fmt: skip

CHUNK_BYTES = 1 << 20
HEAD_BYTES = 4096
"""Bytes at the beginning of a file that show its kind."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_ENCODING_NAMES = {
    "utf-8": "UTF-8", "utf-8-sig": "UTF-8 with a byte order mark", "utf-16": "UTF-16", "utf-32": "UTF-32",
    "cp1252": "Windows-1252", "latin-1": "Latin-1",
}  # fmt: skip
_separator_line = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
_invalid = re.compile("[\udc80-\udcff]")
_multibyte = re.compile("[^\x00-\x7f\udc80-\udcff]")
_undefined_1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")


class TableFormat(msgspec.Struct, frozen=True, kw_only=True):
    """How a table is read. `encoding_guessed` says that only the bytes' range, and no mark, shows the encoding."""

    kind: TableKind
    encoding: str
    encoding_guessed: bool = False
    delimiter: str | None = None
    separator_line: bool = False
    """Whether the first line is Excel's `sep=;`."""

    @property
    def is_plain(self) -> bool:
        """Whether it is UTF-8, with commas if it is CSV."""
        return self.encoding in ("utf-8", "utf-8-sig") and self.delimiter in (None, ",") and not self.separator_line

    @property
    def unit(self) -> str:
        """What the rows are numbered by."""
        return "object" if self.kind == "json array" else "line"

    def describe(self) -> str:
        """Return a sentence for people."""
        names = {"csv": "CSV", "json lines": "JSON Lines", "json array": "a JSON array"}
        delimiter = f" with the delimiter {DELIMITERS.get(self.delimiter, self.delimiter)}" if self.delimiter else ""
        encoding = _ENCODING_NAMES[self.encoding]
        guess = " (a guess: it is not UTF-8; if letters are wrong, convert the file to UTF-8)"
        return f"Read as {names[self.kind]}{delimiter}, {encoding}{guess if self.encoding_guessed else ''}."


class _Encoding(NamedTuple):
    name: str
    guessed: bool = False


def detect_format(path: Path, name: str, normalize: Callable[[str], str], known: Collection[str]) -> TableFormat:
    """Detect the format of a file. `known` are normalized column names, which a header of the right delimiter has.

    The suffix names the kind; without one, the first character does. `name` is for messages. Errors: InvalidQuery.
    """
    kind = SUFFIXES.get(path.suffix.lower())
    with path.open("rb") as file:
        marked = _marked_encoding(file.read(4))
    if kind is None and path.suffix:
        advice = f"Rename it with the suffix of its format: {', '.join(SUFFIXES)}."
        raise InvalidQuery("FILE", f"{name} is neither .csv nor .jsonl nor .json.", advice)
    if kind is None or kind == "json array":
        kind = _sniff_kind(path, name, marked or "utf-8-sig", kind)
    if kind != "csv":
        return TableFormat(kind=kind, encoding=marked or "utf-8")
    with path.open("rb") as file:
        encoding = _Encoding(marked) if marked is not None else _scan_encoding(file, name)
    header = _read_first_line(path, encoding.name)
    separator = _separator_line.fullmatch(header)
    delimiter = separator[1] if separator else _find_delimiter(path, encoding.name, normalize, known)
    return TableFormat(
        kind=kind,
        encoding=encoding.name,
        encoding_guessed=encoding.guessed,
        delimiter=delimiter,
        separator_line=separator is not None,
    )


def _marked_encoding(head: bytes) -> str | None:
    """Return the encoding of a byte order mark; None without one."""
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)


def _sniff_kind(path: Path, name: str, encoding: str, named: TableKind | None) -> TableKind:
    """Return the kind that the first character shows. Errors: InvalidQuery, for a .json file that is something else."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES).decode(encoding, "ignore").lstrip()
    if head[:1] == "[":
        return "json array"
    if named is None:
        return "json lines" if head[:1] == "{" else "csv"
    try:
        with path.open(encoding=encoding) as text:
            msgspec.json.decode(next((line for line in text if line.strip()), ""), type=dict[str, msgspec.Raw])
    except DECODE_ERRORS:
        detail = f"{name} is neither a JSON array of objects nor one object on each line."
        raise InvalidQuery("FILE", detail, "Give a file whose first character is [.") from None
    return "json lines"


def _scan_encoding(file: BinaryIO, name: str) -> _Encoding:
    """Read a whole file without a mark; return UTF-8 if all of it is, or a guess. Errors: InvalidQuery.

    A file with some UTF-8 characters and some other bytes is damaged: reading it as Windows-1252 would change letters.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    invalid_line, lines = None, 1
    has_multibyte = has_undefined = False
    while chunk := file.read(CHUNK_BYTES):
        text = decoder.decode(chunk)
        if not text.isascii():
            has_multibyte = has_multibyte or _multibyte.search(text) is not None
            has_undefined = has_undefined or _undefined_1252.search(chunk) is not None
            if invalid_line is None and (found := _invalid.search(text)):
                invalid_line = lines + text.count("\n", 0, found.start())
        if lines == 1 and "\0" in text.partition("\n")[0]:
            detail = f"{name} has NUL characters in its first line; it may be UTF-16 without a byte order mark."
            raise InvalidQuery("FILE", detail, "Convert it to UTF-8.")
        lines += text.count("\n")
    if invalid_line is None and decoder.decode(b"", final=True):
        invalid_line = lines
    if invalid_line is None:
        return _Encoding("utf-8")
    if has_multibyte:
        detail = f"{name} is damaged: line {invalid_line} is not UTF-8, and other characters are."
        raise InvalidQuery("FILE", detail, "Convert it to UTF-8.")
    return _Encoding("latin-1" if has_undefined else "cp1252", guessed=True)


def _read_first_line(path: Path, encoding: str) -> str:
    with path.open(encoding=encoding, errors="replace") as file:
        return file.readline(HEAD_BYTES)


def _find_delimiter(path: Path, encoding: str, normalize: Callable[[str], str], known: Collection[str]) -> str:
    """Return the delimiter that gives a header the most known names, and then the most cells."""

    def score(delimiter: str) -> tuple[int, int]:
        try:
            with path.open(encoding=encoding, newline="") as file:
                cells = next(csv.reader(file, delimiter=delimiter), [])
        except (csv.Error, UnicodeError):
            return -1, -1
        return sum(normalize(cell) in known for cell in cells), len(cells)

    first = "\t" if path.suffix.lower() == ".tsv" else ","
    return max(dict.fromkeys([first, *DELIMITERS]), key=score)
