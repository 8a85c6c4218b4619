"""Files of JSON lines with the damage that such files have: only what is damaged is lost, and it is counted."""

import io
import json
from typing import Any

import pytest

from instruments.sessions import json_lines
from instruments.sessions.json_lines import FileLines, read_lines

ONE, TWO, THREE = ({"type": "user", "uuid": str(number), "text": '}{"type"'} for number in range(3))


def line(record: object) -> bytes:
    return json.dumps(record).encode()


def read(data: bytes) -> tuple[list[Any], FileLines]:
    counts = FileLines()
    return list(read_lines(io.BytesIO(data), json.loads, counts)), counts


@pytest.mark.parametrize(
    ("damaged", "found", "repaired", "lost"),
    [
        (line(ONE) + line(TWO), [ONE, TWO], 1, 0),
        (line(ONE) + b" " + line(TWO) + line(THREE), [ONE, TWO, THREE], 1, 0),
        (line(ONE)[:20] + line(TWO), [TWO], 0, 1),
        (line(ONE) + line(TWO)[:20], [ONE], 0, 1),
        (line(ONE)[:20] + line(TWO) + line(THREE)[:9] + line(ONE), [TWO, ONE], 0, 2),
        (b"\0" * 50 + line(ONE), [ONE], 1, 0),
        (line(ONE)[:20] + b"\0\0\0" + line(ONE)[20:], [ONE], 1, 0),
        (b"\0" * 50, [], 0, 1),
        (b"not JSON at all", [], 0, 1),
        (b"[" * 100_000, [], 0, 1),
    ],
    ids=[
        "joined",
        "three",
        "cut first",
        "cut last",
        "several",
        "zeros before",
        "zeros inside",
        "zeros",
        "text",
        "deep",
    ],
)
def test_a_damaged_line_between_others(damaged: bytes, found: list[object], repaired: int, lost: int) -> None:
    records, counts = read(line(ONE) + b"\n" + damaged + b"\n" + line(THREE) + b"\n")
    assert records == [ONE, *found, THREE]
    assert (counts.lines, counts.repaired, counts.lost) == (3, repaired, lost)


def test_a_line_that_may_still_be_written_is_left_for_later() -> None:
    records, counts = read(line(ONE) + b"\n" + line(TWO))
    assert (records, counts.lines, counts.unfinished, counts.lost) == ([ONE], 1, True, 0)


def test_empty_lines_are_no_damage() -> None:
    records, counts = read(b"\n" + line(ONE) + b"\n\r\n")
    assert (records, counts.lost, counts.repaired) == ([ONE], 0, 0)


def test_a_line_that_is_too_long_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "LINE_BYTES_MAX", 100)
    records, counts = read(line({"text": "x" * 450}) + b"\n" + line(ONE) + b"\n")
    assert (records, counts.too_long, counts.lines) == ([ONE], 1, 2)
