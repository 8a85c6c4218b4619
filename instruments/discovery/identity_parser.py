"""Who an answer says it is from: the identities in it, wherever one may honestly stand.

A JSON object on one line or many, in the text or opening a fence, before or after the answer; or lines `model_name: X`,
`provider: Y`. What stands inside the code that was asked for is no claim, nor is an object within another value.

Every step is linear in the answer's length: one pass over the lines, and no object is read twice.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from events import ModelIdentity
from events.limits import LABEL_CHARS_MAX
from instruments.discovery.code_fences import CodeBlock

OBJECT_CHARS_MAX = 8_192
"""Characters of an identity's object: four values as long as they may be, each character escaped, and some room."""

GAP_CHARS_MAX = 200
"""Characters of prose before an object on its line."""

NAME_WORDS_MAX = 8
"""Words of a name outside of JSON; more are a sentence."""

_fields = {
    "modelname": "model_name",
    "model": "model",
    "provider": "provider",
    "version": "version",
    "wrapper": "wrapper",
}
_prose = re.compile(r"(?:[\w\s.,:;!?*>~`+-]|'(?=\w))*")
_denial = re.compile(r"^\W*exclu|\b(?:not|not be|except|than|unlike)\W*$", re.IGNORECASE)
_hint = re.compile(r"odel", re.IGNORECASE)
_syntax = frozenset('{}"')
_bracket = re.compile(r"[{\[]")
_ornament = " \t\r\n*_>`~-+#\"'"


class _Number(str):
    """A number as it was written, so that version 4.10 does not become 4.1."""

    __slots__ = ()


_decoder = json.JSONDecoder(parse_int=_Number, parse_float=_Number, parse_constant=_Number)


class IdentityClaim(NamedTuple):
    """What an answer says of who gave it."""

    claims: list[ModelIdentity]
    """Every identity stated, in order."""
    complaints: list[str]
    """What was wrong with what looked like one, in words."""
    rest: list[CodeBlock]
    """The answer without them."""


def one_line(text: str) -> str:
    """A text on one line: what is not printable is a space, and spaces are single."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def find(blocks: Sequence[CodeBlock]) -> IdentityClaim:
    """The identities in an answer's blocks, and the answer without them.

    Lines count beside objects where they say `model_name`; the plainer `model` counts where there is no object.
    """
    spoken: list[Mapping[str, object]] = []
    left: list[CodeBlock] = []
    for block in blocks:
        stated, text = _in_text(block.text) if block.label is None else _in_fence(block.text)
        spoken += stated
        left.append(CodeBlock(text, block.label))
    loose = not spoken
    rest: list[CodeBlock] = []
    for block in left:
        stated, text = _by_lines(block.text, loose) if block.label is None else _all_lines(block.text, loose)
        spoken += stated
        rest.append(CodeBlock(text, block.label))
    judged = [_identity(statement) for statement in spoken]
    return IdentityClaim(
        claims=[one for one in judged if isinstance(one, ModelIdentity)],
        complaints=[one for one in judged if isinstance(one, str)],
        rest=[block for block in rest if block.text.strip()],
    )


def states_identity(text: str) -> bool:
    """Whether a text is one object, and that an identity."""
    value, end = _decoded(text, 0)
    return _statement(value) is not None and not text[end:].strip()


def _in_fence(text: str) -> tuple[list[Mapping[str, object]], str]:
    """What the content of a fence states by the object it opens with, and the content without."""
    start = len(text) - len(text.lstrip())
    value, end = _decoded(text, start) if text[start : start + 1] == "{" else (None, 0)
    statement = _statement(value)
    return ([], text) if statement is None else ([statement], text[end:].lstrip(" \t\r").removeprefix("\n"))


def _in_text(text: str) -> tuple[list[Mapping[str, object]], str]:
    """What a text states by objects, and the text without."""
    statements: list[Mapping[str, object]] = []
    kept: list[str] = []
    at = 0
    for start, end, value in _objects(text):
        statement = _statement(value)
        if statement is not None:
            statements.append(statement)
            kept.append(text[at:start].rstrip("`* \t"))
            at = end + len(text[end : end + 8]) - len(text[end : end + 8].lstrip("`*"))
    kept.append(text[at:])
    return statements, "".join(kept)


def _objects(text: str) -> Iterator[tuple[int, int, object]]:
    """Each JSON object or array that begins a line or follows prose on it: its bounds, and its value.

    What stands too far before the next `model` to be an identity's is not read.
    """
    at, hint = 0, -1
    while at < len(text):
        if hint < at:
            found = _hint.search(text, at)
            if found is None:
                return
            hint = found.start()
            at = text.rfind("\n", at, max(at, hint - OBJECT_CHARS_MAX)) + 1 or at
        bracket = _bracket.search(text, at)
        if bracket is None:
            return
        start = bracket.start()
        gap = max(at, text.rfind("\n", at, start) + 1)
        value, end = _decoded(text, start) if _may_follow(text[gap:start]) else (None, start)
        if value is None:
            at = text.find("\n", end) + 1 or len(text)
        else:
            yield start, end, value
            at = end


def _may_follow(gap: str) -> bool:
    """Whether an identity may follow these words on its line: not code, and not those whom it must not be."""
    return len(gap) <= GAP_CHARS_MAX and _prose.fullmatch(gap) is not None and _denial.search(gap) is None


def _decoded(text: str, start: int) -> tuple[object, int]:
    """The JSON value at a place and where it ends; or None, and how far no other can begin."""
    window = text[start : start + OBJECT_CHARS_MAX]
    try:
        value, end = _decoder.raw_decode(window)
    except RecursionError:
        return None, start + len(window)
    except ValueError as error:
        return None, start + (error.pos if isinstance(error, json.JSONDecodeError) else 0)
    return value, start + end


def _statement(value: object) -> Mapping[str, object] | None:
    """The fields of an identity in a JSON value, by our names; None where it states none."""
    if not isinstance(value, dict):
        return None
    inner = value.get("identity")
    fields = inner if isinstance(inner, dict) else value
    return _named({_fields.get(_bare(name), ""): field for name, field in fields.items()})


def _named(fields: dict[str, object]) -> Mapping[str, object] | None:
    """Fields that state an identity: `model_name`, or `model` with another of its fields beside."""
    fields.pop("", None)
    model = fields.pop("model", None)
    if model is not None and fields:
        fields.setdefault("model_name", model)
    return fields if "model_name" in fields else None


def _bare(name: str) -> str:
    """A field's name without what writers differ in: `Model Name`, `model-name`, `modelName`."""
    return "".join(letter for letter in name[:64].lower() if letter.isalnum())


def _all_lines(text: str, loose: bool) -> tuple[list[Mapping[str, object]], str]:
    """What the content of a fence states by lines, where it has no others, and what is left then."""
    lines = [line for line in text.splitlines() if line.strip(" \t{}")]
    statement = _of_lines(lines, loose) if lines and all(map(_line, lines)) else None
    return ([], text) if statement is None else ([statement], "")


def _by_lines(text: str, loose: bool) -> tuple[list[Mapping[str, object]], str]:
    """What the lines `name: value` of a text state, and the text without them."""
    statements: list[Mapping[str, object]] = []
    kept: list[str] = []
    group: list[str] = []
    for line in [*text.splitlines(keepends=True), ""]:
        if line and _line(line):
            group.append(line)
            continue
        statement = _of_lines(group, loose)
        if statement is None:
            kept.extend(group)
        else:
            statements.append(statement)
        group = []
        kept.append(line)
    return statements, "".join(kept)


def _of_lines(lines: Sequence[str], loose: bool) -> Mapping[str, object] | None:
    """The identity that consecutive lines state; None where they state none, or a sentence."""
    pairs = [pair for pair in map(_line, lines) if pair is not None]
    named = {name for name, _ in pairs}
    if len(named) < len(pairs) or not (loose or "model_name" in named):
        return None
    statement = _named(dict(pairs))
    name = statement and statement["model_name"]
    return statement if isinstance(name, str) and len(name.split()) <= NAME_WORDS_MAX else None


def _line(line: str) -> tuple[str, object] | None:
    """Name and value of a line `name: value`, where the name is one of an identity's."""
    if ":" not in line or len(line) > 2 * LABEL_CHARS_MAX:
        return None
    name, colon, value = line.strip(_ornament).partition(":")
    field = _fields.get(_bare(name)) if len(name) < 32 else None
    text = value.strip(_ornament + ",")
    several = ": " in text or (", " in text and field in {"model", "model_name"})
    return (field, text) if colon and field and text and not several and not _syntax & set(text) else None


def _identity(statement: Mapping[str, object]) -> ModelIdentity | str:
    """The identity that a statement makes, or what is wrong with it."""
    name = statement["model_name"]
    if not isinstance(name, str) or isinstance(name, _Number):
        return f"its model_name is no text, but {_kind(name)}"
    model_name = one_line(name)
    if len(model_name) > LABEL_CHARS_MAX:
        return f"its model_name has {len(model_name):,} characters, and a name at most {LABEL_CHARS_MAX}"
    return ModelIdentity(
        model_name=model_name,
        provider=_optional(statement.get("provider")),
        version=_optional(statement.get("version")),
        wrapper=_optional(statement.get("wrapper")),
    )


def _optional(value: object) -> str | None:
    """A field that may be missing: no text or number, a placeholder left as it was, or far too long is missing."""
    text = one_line(value) if isinstance(value, str) else ""
    return text if 0 < len(text) <= LABEL_CHARS_MAX and not (text[0] == "<" and text[-1] == ">") else None


def _kind(value: object) -> str:
    """A JSON value's kind in words."""
    kinds = {type(None): "null", bool: "true or false", _Number: "a number", list: "a list", dict: "an object"}
    return kinds.get(type(value), "something else")
