"""Patterns and answers are compared in one typography, and a match is quoted as it was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruments.evals.agent import parse_output
from instruments.evals.scoring.folded_text import FoldedText, fold

PLAIN = "can't mount the read-only file system"


@pytest.mark.trial("P13")
@pytest.mark.parametrize(
    "written",
    [
        PLAIN,
        "CAN'T mount the Read-Only FILE system",
        "can\u2019t mount the read-only file system",
        "can\u00b4t mount the read\u2010only file system",
        "can't mount the read\u2011only file system",
        "can't mount the read\u2212only file system",
        "can't mount the read-only\u00a0file system",
        "can't mount the read-only\u202ffile system",
        "can't mount the read-only file\n  system",
        "can't  mount\tthe read-only file system",
        "can't mount the read\u200b-only file system",
        "can't mount the read\u00ad-only file system",
        "can't mount the **read-only** file system",
        "*can't mount* the `read-only` file system",
        "***can't mount the read-only file system***",
        "can't mount the read-only \ufb01le system",
        "can't mount the \uff52\uff45\uff41\uff44-only file system",
    ],
)
def test_one_text_in_any_typography_is_one_text(written: str) -> None:
    assert fold(written) == PLAIN


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cafe\u0301", "caf\u00e9"),
        ("\u201csecret\u201d", '"secret"'),
        ("\u00abx\u00bb", '"x"'),
        ("STRASSE", "stra\u00dfe"),
    ],
)
def test_texts_that_are_equal(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize("text", ["select * from t", "*.log", "a*b", "2 * 3 * 4", "rm -rf /*", "__init__", "**kw"])
def test_a_star_that_is_no_emphasis_stays(text: str) -> None:
    assert fold(text) == text


@pytest.mark.parametrize(
    ("text", "found", "quoted"),
    [
        ("the **read\u2011only**  file", "read-only file", "read\u2011only**  file"),
        ("la cafe\u0301 noir", "caf\u00e9", "cafe\u0301"),
        ("a \ufb01le", "file", "\ufb01le"),
        ("x\u200by", "xy", "x\u200by"),
    ],
)
def test_a_span_is_of_the_text_as_it_was_written(text: str, found: str, quoted: str) -> None:
    folded = FoldedText(text)
    at = folded.text.index(found)
    start, end = folded.span(at, at + len(found))
    assert text[start:end] == quoted


@given(st.text(st.sampled_from("aB \n*`'\u2019\u2011\u200b\u00a0e\u0301\u00df\ufb01")))
def test_folding_again_changes_nothing_and_spans_are_inside(text: str) -> None:
    folded = FoldedText(text)
    assert folded.cases == text.casefold()
    assert "\u2019" not in folded.text
    assert "  " not in folded.text
    spans = [folded.span(at, at + 1) for at in range(len(folded.text))]
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert spans == sorted(spans)


@pytest.mark.trial("P20")
@pytest.mark.parametrize(
    "text",
    [
        '{"rca": {"root_cause": "disk"}}',
        '```json\n{"rca": {"root_cause": "disk"}}\n```',
        'Here it is:\n\n```\n{"rca": {"root_cause": "disk"}}\n```\nDone.',
        '12:00 INFO started\n```JSON\n{\n  "rca": {"root_cause": "disk"}\n}\n```\n',
    ],
)
def test_an_answer_in_a_code_fence_is_read(text: str) -> None:
    assert parse_output(text).value == {"rca": {"root_cause": "disk"}}


@pytest.mark.trial("P20")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("```json\n{}\n```\n```json\n{}\n```", "It has 2 code fences; one of them is read."),
        ('answer: {"rca": {}}', "what it wrote is not one JSON object"),
        ("```json\n[1]\n```", "what it wrote is a list"),
    ],
)
def test_any_other_answer_is_an_error(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match="what it wrote") as raised:
        parse_output(text)
    assert problem in str(raised.value)
