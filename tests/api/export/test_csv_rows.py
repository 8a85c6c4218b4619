"""CSV that a spreadsheet opens without obeying it."""

import csv
import re
from base64 import b64decode
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.export.csv_rows import SIGNS, escape_cell, line_cell
from tests.api.export.conftest import Ledger, export

_beginning = re.compile(rf"[\s\"]*[{SIGNS}]")

ODD = st.text(st.sampled_from("=+-@\t\r\n;|,\"' a\uff1d\uff0b\uff0d\uff20"), max_size=12)


def formulas(cell: str) -> list[str]:
    """The parts of a cell that some spreadsheet takes for formulas, whatever separates its cells."""
    parts = re.split(r"[;|\t\r\n]", cell)
    return [part for part in parts if _beginning.match(part)]


@given(ODD)
def test_no_cell_is_a_formula(text: str) -> None:
    assert formulas(escape_cell(text)) == []
    assert escape_cell(text)[:1] not in set("\t\r\n")


@given(ODD)
def test_a_line_is_exact_and_harmless(text: str) -> None:
    line = f'{{"text":"{text}"}}'.encode()
    cell = line_cell(line)
    assert (cell.encode() if cell.startswith("{") else b64decode(cell)) == line
    assert formulas(cell) == []


def test_what_is_no_formula_stays_as_it_is() -> None:
    for text in ("2026-11-21T08:30:00.000000Z", "decision/3f2a-1", "/agents/a", "a = b", "x-y;z", ""):
        assert escape_cell(text) == text
    assert line_cell(b'{"text":"a = b; c"}') == '{"text":"a = b; c"}'


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
def test_an_export_is_harmless_to_any_spreadsheet(ledger: Ledger, tmp_path: Path, delimiter: str) -> None:
    """Opened with the right separator, or with that of another country."""
    export(ledger.path, tmp_path / "out", format="csv")
    text = (tmp_path / "out" / "events.csv").read_bytes()
    assert text.startswith(b"\xef\xbb\xbf")
    assert text.count(b"\r\n") == text.count(b"\n") == len(ledger.lines) + 1
    csv.field_size_limit(1 << 20)
    rows = list(csv.reader(StringIO(text.decode("utf-8-sig"), newline=""), delimiter=delimiter, quoting=csv.QUOTE_NONE))
    cells = [cell.strip('"') for row in rows for cell in row]
    dangerous = [cell for cell in cells if re.match(rf"[\s\"]*[{SIGNS}\t\r\n]", cell)]
    assert dangerous == []
    assert len(cells) > len(ledger.lines)
