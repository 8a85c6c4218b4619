"""A key twice in one object, and nesting beyond the limit, are refused by name; all other JSON passes."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.errors import MalformedInput
from events.json_check import DEPTH_MAX, check_json

TWICE = [
    b'{"a":1,"a":1}',
    b'{"a":{"b":1,"c":2,"b":3}}',
    b'[{"x":1},{"x":1,"y":2,"x":3}]',
    b'{"a" : 1 , "\\u0061" : 2}',
    b'{"a":"\\"","a":"\\\\"}',
    b'{"t":"\\"k\\": 1","t":2}',
]


@pytest.mark.trial("P4")
@pytest.mark.parametrize("text", TWICE)
def test_a_key_twice_is_named(text: bytes) -> None:
    with pytest.raises(MalformedInput, match="is twice in one object") as raised:
        check_json(text, 3)
    assert raised.value.index == 3


@pytest.mark.parametrize(
    "text",
    [
        b"{}", b"[]", b"1", b'"a"', b'{"a":{"a":{"a":1}}}', b'[{"a":1},{"a":1}]', b'{"a":"\\"a\\": 1","b":":"}',
        b'{"a\\"":1,"a":2}', b'{"":1,"a":{"":1}}',
    ],
)  # fmt: skip
def test_other_json_passes(text: bytes) -> None:
    check_json(text)


@pytest.mark.trial("N18")
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")])
def test_the_depth_is_limited(opening: bytes, closing: bytes) -> None:
    levels = opening.count(b"[") + opening.count(b"{")
    check_json(opening * (DEPTH_MAX // levels) + b"1" + closing * (DEPTH_MAX // levels))
    for deep in (DEPTH_MAX // levels + 1, 5_000):
        with pytest.raises(MalformedInput, match="nests more than 64 deep"):
            check_json(opening * deep + b"1" + closing * deep)


keys = st.sampled_from(["a", "b", 'a"', "\\", ":", ""])
values = st.recursive(
    st.none() | st.integers() | st.text('a":{}[]\\,', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(keys, inner), max_size=3).map(tuple),
    max_leaves=12,
)


def text_of(value: object) -> tuple[bytes, bool]:
    """The JSON of a value, in which a tuple is an object of these pairs; and whether one has a key twice."""
    if isinstance(value, tuple):
        parts = [(msgspec.json.encode(key) + b":" + text_of(inner)[0], text_of(inner)[1]) for key, inner in value]
        twice = len({key for key, _ in value}) < len(value)
        return b"{" + b",".join(text for text, _ in parts) + b"}", twice or any(found for _, found in parts)
    if isinstance(value, list):
        parts = [text_of(inner) for inner in value]
        return b"[" + b",".join(text for text, _ in parts) + b"]", any(found for _, found in parts)
    return msgspec.json.encode(value), False


@given(values)
def test_it_finds_every_repeated_key_and_no_other(value: object) -> None:
    text, twice = text_of(value)
    if not twice:
        check_json(text)
        return
    with pytest.raises(MalformedInput):
        check_json(text)
