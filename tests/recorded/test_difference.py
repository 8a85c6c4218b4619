"""The comparison finds every change but those that it is meant to pass over."""

import pytest

from tests.recorded.difference import alike, difference
from tests.recorded.texts import without_texts

LINE = '{"scene":"s","step":1,"request":"GET /x","status":200,"json":{"a":0.1234567890123456,"b":"é"}}'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("200", "201"), ('{"a"', '{ "a"'), ('"é"', '"\\u00e9"'), ("0.1234567890123456", "0.12345"),
        ("0.1234567890123456", "0.1234567990123456"), ('"b"', '"c"'), ('"é"', "null"),
        ('"a":0.1234567890123456,"b":"é"', '"b":"é","a":0.1234567890123456'),
    ],
)  # fmt: skip
def test_a_change_is_a_difference(old: str, new: str) -> None:
    changed = LINE.replace(old, new)
    assert changed != LINE
    said = difference([LINE], [changed])
    assert "s 1: GET /x" in said
    assert "recorded …" in said


def test_the_last_digits_of_a_long_number_may_differ() -> None:
    assert alike(LINE, LINE.replace("3456,", "3457,"))
    assert not alike('{"a":0.5}', '{"a":0.50}')
    assert not alike('{"a":1e-7}', '{"a":2e-7}')


def test_a_missing_line_is_a_difference() -> None:
    assert "2 lines are recorded, and there are 1 now" in difference([LINE, LINE], [LINE])
    assert difference([LINE], [LINE]) == ""


def test_texts_for_people_are_replaced_and_nothing_else() -> None:
    document = '{ "detail":"Not \\"here\\".","type":"urn:x","advice":null,"lines":["a b",["c"]],"note":"mine","n":1.50}'
    plain = '{ "detail":"<text>","type":"urn:x","advice":null,"lines":["<text>",["<text>"]],"note":"mine","n":1.50}'
    assert without_texts(document, {"mine"}) == plain
    assert without_texts('{"reason":"went away","code":"x"}', (), ("reason",)) == '{"reason":"<text>","code":"x"}'
    assert without_texts('{"reason":"overdue_review"}', (), ("reason",)) == '{"reason":"overdue_review"}'


def test_a_stored_event_keeps_its_texts() -> None:
    event = '{"specversion":"1.0","data":{"detail":"it names one","meta":{"note":"x y"}}}'
    assert without_texts(f'{{"events":[{event}],"detail":"gone"}}', ()) == f'{{"events":[{event}],"detail":"<text>"}}'
