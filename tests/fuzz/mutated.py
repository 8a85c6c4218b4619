"""Bytes that are nearly right: whole documents of a format, damaged in their structure or in their bytes."""

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import strategies as st

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    | st.sampled_from(["", "\x00", "\ud7ff", "=1+1", "9" * 400, "1e400", "-0", "2026-13-01", "../..", "\u202e"])
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
"""What JSON can hold, and what is often mistaken."""


@st.composite
def documents(draw: st.DrawFn, whole: Sequence[Any]) -> Any:  # noqa: ANN401 - any value of JSON
    """One of some documents with a few of its parts, at any depth, replaced, removed, doubled or renamed."""
    said = msgspec.json.decode(draw(st.sampled_from([msgspec.json.encode(one) for one in whole])))
    for _ in range(draw(st.integers(0, 4))):
        said = _damaged(draw, said)
    return said


def _damaged(draw: st.DrawFn, said: Any) -> Any:  # noqa: ANN401 - any value of JSON
    if isinstance(said, dict) and said and draw(st.integers(0, 9)):
        name = draw(st.sampled_from(sorted(said)))
        match draw(st.sampled_from(("into", "into", "drop", "rename", "add"))):
            case "into":
                said[name] = _damaged(draw, said[name])
            case "drop":
                del said[name]
            case "rename":
                said[draw(st.text(max_size=8))] = said.pop(name)
            case _:
                said[draw(st.text(max_size=8))] = draw(VALUES)
        return said
    if isinstance(said, list) and said and draw(st.booleans()):
        place = draw(st.integers(0, len(said) - 1))
        said[place] = _damaged(draw, said[place])
        return said * draw(st.integers(1, 2))
    return draw(VALUES)


@st.composite
def noise(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """Bytes with some cut out, put in or changed; or any bytes."""
    body = bytearray(draw(whole))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(body)))
        body[place : place + draw(st.integers(0, 8))] = draw(
            st.binary(max_size=6)
            | st.sampled_from([b"\xff", b"\xed\xa0\x80", b"[" * 2_000, b'{"a":' * 2_000, b"\r\n", b'"', b"\x00"])
        )
    return bytes(body)


def bodies(whole: Sequence[Any]) -> st.SearchStrategy[bytes]:
    """JSON of damaged documents, its bytes damaged at times, and any bytes."""
    encoded = documents(whole).map(msgspec.json.encode)
    return encoded | noise(encoded) | st.binary(max_size=64)
