"""JSON with NaN and infinities, as Python writes it, read without changing any text."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.importers.results.inspect_reader import value_to_number
from api.importers.results.lenient_json import LenientDecoder, number

TEXTS = st.one_of(st.text(max_size=20), st.sampled_from(["NaN", ': NaN,"', "\\", '\\"NaN', "-Infinity"]))
VALUES = st.recursive(
    st.one_of(st.floats(), st.integers(-(2**53), 2**53), TEXTS, st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)


def quoted(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, float) and value - value != 0:
        return json.dumps(value)
    if isinstance(value, list):
        return [quoted(each) for each in value]
    return {key: quoted(each) for key, each in value.items()} if isinstance(value, dict) else value


@given(VALUES)
def test_constants_become_texts_and_nothing_else_changes(value: object) -> None:
    decoder: LenientDecoder[Any] = LenientDecoder(object)
    assert decoder.decode(json.dumps(value).encode()) == quoted(value)


@pytest.mark.parametrize("data", [b"", b"{", b"NaNs", b"[NaN", b'{"a": Infinity'])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        LenientDecoder(object).decode(data)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("C", 1), ("I", 0), ("P", 0.5), ("N", 0), ("c", None), ("Yes", 1), ("TRUE", 1), ("no", 0), ("False", 0),
        (True, 1), (False, 0), (1, 1), (0.25, 0.25), ("0.5", 0.5), ("-5", -5), ("1e3", 1000), ("nan", None),
        ("NaN", None), ("inf", None), ("good", None), ([1], None), ({"a": 1}, None), (None, None),
    ],
)  # fmt: skip
def test_values_are_the_numbers_of_inspect(value: object, expected: float | None) -> None:
    """As `value_to_float` of inspect-ai 0.3.285 with its defaults; what it cannot convert has no number."""
    assert value_to_number(value) == expected


def test_only_finite_numbers_are_numbers() -> None:
    assert [number(each) for each in (1, 0.5, True, "1", None, float("inf"))] == [1, 0.5, None, None, None, None]
