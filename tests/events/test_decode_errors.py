"""What does not fit is refused with the field, the index and the way out."""

from collections.abc import Callable

import pytest

from events.envelope import Draft
from events.errors import InvalidEvent, MalformedInput
from events.registry import VOCABULARY

GOOD = b'{"type":"decision.recorded.v1","data":{"decision":"x"}}'
NESTED = b"[" * 200_000 + b"]" * 200_000


def recorded(data: bytes = b"", beside: bytes = b"") -> bytes:
    """A decision with more in its data, or beside it."""
    return b'{"type":"decision.recorded.v1","data":{"decision":"x"' + data + b"}" + beside + b"}"


def refusal(decode: Callable[[bytes], object], body: bytes) -> InvalidEvent:
    with pytest.raises(InvalidEvent) as caught:
        decode(body)
    assert caught.value.written is False
    assert caught.value.full_advice.endswith("Nothing was written.")
    return caught.value


def check(body: bytes, field: str | None, detail: str, advice: str) -> None:
    error = refusal(VOCABULARY.draft, body)
    assert error.field == field
    assert error.index is None
    assert detail in error.detail
    assert advice in error.full_advice
    assert str(error) == f"{error.detail} {error.full_advice}"


@pytest.mark.parametrize(
    ("body", "field", "detail", "advice"),
    [
        (b'{"type":"decision.recorde.v1","data":{}}', "type", "not in the vocabulary", "'decision.recorded.v1'?"),
        (b'{"type":"decision.reviewed.v9","data":{}}', "type", "not in the vocabulary", "'decision.reviewed.v2'?"),
        (b'{"type":"zzz","data":{}}', "type", "'zzz' is not in the vocabulary", "Known types: alert."),
        (b'{"data":{"decision":"x"}}', "type", "required and missing", "Add it"),
        (b'{"type":"decision.recorded.v1"}', "data", "required and missing", "Add it"),
        (b'{"type":"decision.recorded.v1","data":{}}', "data.decision", "required and missing", "Add it"),
        (recorded(b',"confidance":0.5'), "data.confidance", "not a field", "tallystick schema"),
        (recorded(b"", b',"datas":1'), "datas", "not a field", "tallystick schema"),
        (recorded(b',"reasons":[{"type":"analysis"}]'), "data.reasons[0].text", "required and missing", "Add it"),
        (recorded(b',"reasons":[{"type":"hunch","text":"t"}]'), "data.reasons[0].type", "'hunch'", "authority, "),
    ],
    ids=lambda value: value.decode()[:60] if isinstance(value, bytes) else "",
)
def test_a_wrong_name_is_reported_with_the_right_one(body: bytes, field: str, detail: str, advice: str) -> None:
    check(body, field, detail, advice)


@pytest.mark.parametrize(
    ("confidence", "detail"),
    [
        (b"1.5", "<= 1.0"),
        (b"-0.1", ">= 0.0"),
        (b'"0.8"', "got `string`"),
        (b"true", "got `boolean`"),
        (b"[0.8]", "got `array`"),
        (b"1e999", "out of range"),
    ],
)
def test_a_confidence_is_a_number_from_0_to_1(confidence: bytes, detail: str) -> None:
    check(recorded(b',"confidence":' + confidence), "data.confidence", detail, "Correct the value.")


@pytest.mark.parametrize("confidence", [b"NaN", b"Infinity", b"-Infinity"])
def test_nan_and_infinity_are_no_json(confidence: bytes) -> None:
    body = recorded(b',"confidence":' + confidence)
    check(body, None, "Not well-formed JSON", "NaN and Infinity are not JSON numbers")
    assert isinstance(refusal(VOCABULARY.draft, body), MalformedInput)


@pytest.mark.parametrize("confidence", [b"0", b"1", b"0.0", b"1.0", b"1e-9", b"null"])
def test_the_bounds_of_confidence_are_accepted(confidence: bytes) -> None:
    draft = VOCABULARY.draft(recorded(b',"confidence":' + confidence))
    stated = getattr(draft.data, "confidence")  # noqa: B009 - not on the base
    assert stated == (None if confidence == b"null" else float(confidence))


@pytest.mark.parametrize(
    ("beside", "field", "detail"),
    [
        (b',"time":"yesterday"', "time", "RFC3339"),
        (b',"time":0', "time", "`string"),
        (b',"specversion":"0.3"', "specversion", "'0.3'"),
        (b',"datacontenttype":"text/plain"', "datacontenttype", "'text/plain'"),
        (b',"id":""', "id", "length >= 1"),
        (b',"id":"' + b"i" * 129 + b'"', "id", "length <= 128"),
        (b',"id":7', "id", "got `number`"),
        (b',"correlationid":"' + b"c" * 257 + b'"', "correlationid", "length <= 256"),
        (b',"expectedversion":-1', "expectedversion", ">= 0"),
        (b',"expectedversion":9007199254740992', "expectedversion", "9007199254740991"),
    ],
    ids=lambda value: value.decode()[:40] if isinstance(value, bytes) else "",
)
def test_a_wrong_attribute_is_named(beside: bytes, field: str, detail: str) -> None:
    advice = "Use one of: " if field in {"specversion", "datacontenttype"} else "Correct the value."
    check(recorded(b"", beside), field, detail, advice)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        recorded(b',"context":"\xff\xfe"'),
        recorded(b',"context":"\\ud800"'),
        recorded(b',"context":"\\udc00x"'),
        recorded() + b"}",
        b"\xef\xbb\xbf" + GOOD,
    ],
    ids=["empty", "cut", "byte", "utf8", "high surrogate", "low surrogate", "trailing", "mark"],
)
def test_bytes_that_are_no_json_are_malformed(body: bytes) -> None:
    assert isinstance(refusal(VOCABULARY.draft, body), MalformedInput)


@pytest.mark.parametrize(
    "body",
    [
        NESTED,
        recorded(b',"trace":' + NESTED),
        recorded(b',"zz":' + NESTED),
        b'{"zz":' + NESTED + b"," + GOOD[1:],
        b'{"data":' + NESTED + b',"type":"decision.recorded.v1"}',
        b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
    ],
    ids=["array", "field", "unknown", "before type", "data before type", "objects"],
)
@pytest.mark.parametrize("decode", [VOCABULARY.draft, VOCABULARY.drafts, VOCABULARY.draft_lines])
def test_deep_nesting_is_refused(decode: Callable[[bytes], object], body: bytes) -> None:
    assert refusal(decode, body).detail


@pytest.mark.parametrize("place", [0, 1, 4])
@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (recorded(b',"confidence":2'), "data.confidence"),
        (b'{"type":"decision.thought.v1","data":{"text":"t"}}', "data.decision_id"),
        (b'{"type":"nope","data":{}}', "type"),
        (recorded(b"", b',"agent":"ada"'), "agent"),
        (b"7", None),
    ],
    ids=["value", "missing", "type", "agent", "number"],
)
def test_the_wrong_one_of_many_is_named_by_its_index(place: int, bad: bytes, field: str | None) -> None:
    bodies = [GOOD] * 5
    bodies[place] = bad
    for decode, body in (
        (VOCABULARY.drafts, b"[" + b",".join(bodies) + b"]"),
        (VOCABULARY.draft_lines, b"\n".join(bodies)),
        (VOCABULARY.draft_lines, b"\r\n".join(bodies) + b"\r\n"),
        (VOCABULARY.draft_lines, b"\n\n" + b"\n\n".join(bodies) + b"\n"),
    ):
        error = refusal(decode, body)
        assert (error.index, error.field) == (place, field)


def test_a_malformed_line_is_named_by_its_index() -> None:
    error = refusal(VOCABULARY.draft_lines, GOOD + b"\n" + GOOD + b"\n{broken\n" + GOOD)
    assert isinstance(error, MalformedInput)
    assert error.index == 2


@pytest.mark.parametrize(
    ("decode", "body", "count"),
    [
        (VOCABULARY.drafts, b"[]", 0),
        (VOCABULARY.drafts, b"[" + GOOD + b"]", 1),
        (VOCABULARY.draft_lines, b"", 0),
        (VOCABULARY.draft_lines, b"\n" + GOOD + b"\r\n\n" + GOOD, 2),
    ],
)
def test_batches_of_any_size_decode(decode: Callable[[bytes], list[Draft]], body: bytes, count: int) -> None:
    assert [draft.name for draft in decode(body)] == ["decision.recorded.v1"] * count


def test_an_amendment_changes_something() -> None:
    check(b'{"type":"decision.amended.v1","data":{"decision_id":"a"}}', "data", "at least one field", "Correct")


def test_lists_are_bounded() -> None:
    tags = b",".join([b'"t"'] * 257)
    check(recorded(b',"tags":[' + tags + b"]"), "data.tags", "length <= 256", "Correct the value.")


@pytest.mark.parametrize("name", ["a/b", "a b", "ü", "a\n", "x" * 65, ""])
def test_a_stream_id_has_its_shape(name: str) -> None:
    kind = VOCABULARY.event_types["decision.thought.v1"]
    payload = kind.payload(decision_id=name, text="t")
    with pytest.raises(InvalidEvent, match=r"is not 1\.\.64 of letters") as caught:
        kind.stream_id(payload)
    assert caught.value.field == "data.decision_id"


@pytest.mark.trial("A13")
@pytest.mark.parametrize(
    ("type_", "field", "allowed"),
    [
        ("decision.reviewed.v1", "outcome", "success"),
        ("discovery.attempted.v1", "outcome", "unparsable"),
        ("discovery.finished.v1", "ending", "max_time"),
        ("decision.recorded.v1", "stakes", "critical"),
    ],
)
def test_a_wrong_word_is_reported_with_the_words_that_its_type_allows(type_: str, field: str, allowed: str) -> None:
    body = f'{{"type":"{type_}","data":{{"{field}":"nonsense"}}}}'.encode()
    for decode, sent, index in (
        (VOCABULARY.draft, body, None),
        (VOCABULARY.drafts, b"[" + GOOD + b"," + body + b"]", 1),
        (VOCABULARY.draft_lines, GOOD + b"\n" + body, 1),
    ):
        error = refusal(decode, sent)
        assert (error.field, error.index) == (f"data.{field}", index)
        assert error.detail == f"data.{field}: 'nonsense' is not an allowed value."
        assert allowed in error.advice.removeprefix("Use one of: ").removesuffix(".").split(", ")


@pytest.mark.trial("A13")
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b'"0.8"', "expected `number | null`, got `string`"),
        (b"[]", "expected `number | null`, got `array`"),
        (b"{}", "expected `number | null`, got `object`"),
        (b"true", "expected `number | null`, got `boolean`"),
    ],
)
def test_types_have_the_names_of_json(value: bytes, words: str) -> None:
    check(recorded(b',"confidence":' + value), "data.confidence", words, "Correct the value.")
    check(recorded(b',"pr":1.5'), "data.pr", "expected `integer | null`, got `number`", "Correct the value.")


@pytest.mark.trial("A12")
def test_an_agent_is_in_the_source() -> None:
    for body in (recorded(b"", b',"agent":"scout"'), recorded(b',"agent":"scout"')):
        error = refusal(VOCABULARY.draft, body)
        assert "source" in error.detail
        assert '"source": "/agents/NAME"' in error.advice
