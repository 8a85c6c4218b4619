"""Extract the identities that an answer claims.

A claim is a JSON object on one or more lines, in the text or at the beginning of a fence, before or after the answer;
or lines such as `model_name: X` and `provider: Y`. No other field than the model name makes a claim. Text inside the
requested code, or an object within another value, is not a claim.

Every step is linear in the answer's length: one pass over the lines, and each object is parsed once.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from events.limits import LABEL_CHARS_MAX
from events.model import ModelIdentity
from instruments.discovery.code_fences import CodeBlock

OBJECT_CHARS_MAX = 8_192
"""Characters of an identity's JSON object: four values of the longest length, with escapes, and a margin."""

GAP_CHARS_MAX = 200
"""Characters of prose allowed before an object on its line."""

NAME_WORDS_MAX = 8
"""Words of a name outside JSON; a longer text is a sentence and not a name."""

_FIELD_CHARS_MAX = 64
"""Characters of a field name in JSON that are compared."""

_LINE_FIELD_CHARS_MAX = 31
"""Characters of a field name in a `name: value` line."""

_CLOSING_CHARS_MAX = 8
"""Characters of ornament that are removed after a JSON object."""

_fields = {
    "modelname": "model_name",
    "provider": "provider",
    "version": "version",
    "wrapper": "wrapper",
}
_prose = re.compile(r"(?:[\w\s.,:;!?*>~`+-]|'(?=\w))*")
_exclusion = re.compile(r"^\W*exclu|\b(?:not|not be|except|than|unlike)\W*$", re.IGNORECASE)
_model_hint = re.compile(r"odel", re.IGNORECASE)
_json_signs = frozenset('{}"')
_bare_model = re.compile(r"\bmodel[\"'*_`]*[ \t]*:", re.IGNORECASE)
_broken_object = re.compile(r"\{[^{}]{0,200}?model[ _-]?name", re.IGNORECASE)
_bracket = re.compile(r"[{\[]")
_ornament = " \t\r\n*_>`~-+#\"'"


class _Number(str):
    """A number as written in the answer, so that version 4.10 does not become 4.1."""

    __slots__ = ()


_decoder = json.JSONDecoder(parse_int=_Number, parse_float=_Number, parse_constant=_Number)


class IdentityClaims(NamedTuple):
    """The identities that an answer claims, and the answer without them."""

    claims: list[ModelIdentity]
    """All identities, in order."""
    complaints: list[str]
    """Descriptions of claims that are not valid, in words."""
    rest: list[CodeBlock]
    """The answer's blocks without the claims."""
    broken: str | None = None
    """Why no identity is claimed, if the answer has broken JSON of one, or names a `model` without `model_name`."""


def one_line(text: str) -> str:
    """Return a text on one line: unprintable characters become spaces, and runs of spaces become one."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def find_identities(blocks: Sequence[CodeBlock]) -> IdentityClaims:
    """Extract the identities from an answer's blocks."""
    statements: list[Mapping[str, object]] = []
    without_objects: list[CodeBlock] = []
    for block in blocks:
        block_statements, text = _find_in_text(block.text) if block.label is None else _find_in_fence(block.text)
        statements += block_statements
        without_objects.append(CodeBlock(text, block.label))
    rest: list[CodeBlock] = []
    for block in without_objects:
        block_statements, text = _find_in_lines(block.text) if block.label is None else _find_in_fence_lines(block.text)
        statements += block_statements
        rest.append(CodeBlock(text, block.label))
    identities = [_identity(statement) for statement in statements]
    return IdentityClaims(
        claims=[identity for identity in identities if isinstance(identity, ModelIdentity)],
        complaints=[complaint for complaint in identities if isinstance(complaint, str)],
        rest=[block for block in rest if block.text.strip()],
        broken=None if identities else _explain_broken_identity(blocks),
    )


def states_identity(text: str) -> bool:
    """Whether a text is exactly one JSON object that states an identity."""
    value, end = _decode_json(text, 0)
    return _statement(value) is not None and not text[end:].strip()


def _explain_broken_identity(blocks: Sequence[CodeBlock]) -> str | None:
    """Describe what would state an identity: an object if it were JSON, or a `model`; None if there is neither."""
    for block in blocks:
        found = _broken_object.search(block.text)
        if found is not None:
            try:
                _decoder.raw_decode(block.text[found.start() : found.start() + OBJECT_CHARS_MAX])
            except json.JSONDecodeError as error:
                return f"identity is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno} of it)"
            except RecursionError:
                return "identity is not valid JSON: it is nested too deeply"
    if any(_bare_model.search(block.text) for block in blocks if block.label in {None, "", "json", "yaml"}):
        return "no identity is in the answer: it states a model, but no model_name"
    return None


def _find_in_fence(text: str) -> tuple[list[Mapping[str, object]], str]:
    """Return the identity in the object that a fence's content begins with, and the content without it."""
    start = len(text) - len(text.lstrip())
    value, end = _decode_json(text, start) if text[start : start + 1] == "{" else (None, 0)
    statement = _statement(value)
    return ([], text) if statement is None else ([statement], text[end:].lstrip(" \t\r").removeprefix("\n"))


def _find_in_text(text: str) -> tuple[list[Mapping[str, object]], str]:
    """Return the identities that JSON objects in a text state, and the text without them."""
    statements: list[Mapping[str, object]] = []
    kept: list[str] = []
    at = 0
    for start, end, value in _objects(text):
        statement = _statement(value)
        if statement is not None:
            statements.append(statement)
            kept.append(text[at:start].rstrip("`* \t"))
            following = text[end : end + _CLOSING_CHARS_MAX]
            at = end + len(following) - len(following.lstrip("`*"))
    kept.append(text[at:])
    return statements, "".join(kept)


def _objects(text: str) -> Iterator[tuple[int, int, object]]:
    """Yield each JSON object or array that begins a line or follows prose on it: start, end, value.

    Brackets are skipped if they are too far before the next `model` to belong to an identity.
    """
    at, hint = 0, -1
    while at < len(text):
        if hint < at:
            hint_match = _model_hint.search(text, at)
            if hint_match is None:
                return
            hint = hint_match.start()
            at = text.rfind("\n", at, max(at, hint - OBJECT_CHARS_MAX)) + 1 or at
        bracket = _bracket.search(text, at)
        if bracket is None:
            return
        start = bracket.start()
        before = max(at, text.rfind("\n", at, start) + 1)
        value, end = _decode_json(text, start) if _may_precede_identity(text[before:start]) else (None, start)
        if value is None:
            at = text.find("\n", end) + 1 or len(text)
        else:
            yield start, end, value
            at = end


def _may_precede_identity(before: str) -> bool:
    """Whether an identity may follow this text on its line: it is prose, and does not introduce excluded names."""
    return len(before) <= GAP_CHARS_MAX and _prose.fullmatch(before) is not None and _exclusion.search(before) is None


def _decode_json(text: str, start: int) -> tuple[object, int]:
    """Return the JSON value at an offset, and its end; if there is none, None and the offset to continue the search."""
    window = text[start : start + OBJECT_CHARS_MAX]
    try:
        value, end = _decoder.raw_decode(window)
    except RecursionError:
        return None, start + len(window)
    except ValueError as error:
        return None, start + (error.pos if isinstance(error, json.JSONDecodeError) else 0)
    return value, start + end


def _statement(value: object) -> Mapping[str, object] | None:
    """Return the identity fields of a JSON value, by the names in ModelIdentity; None if it states no identity."""
    if not isinstance(value, dict):
        return None
    inner = value.get("identity")
    fields = inner if isinstance(inner, dict) else value
    stated = {_fields.get(_normalize_field(name), ""): field for name, field in fields.items()}
    return stated if "model_name" in stated else None


def _normalize_field(name: str) -> str:
    """Normalize a field name: `Model Name`, `model-name` and `modelName` become `modelname`."""
    return "".join(letter for letter in name[:_FIELD_CHARS_MAX].lower() if letter.isalnum())


def _find_in_fence_lines(text: str) -> tuple[list[Mapping[str, object]], str]:
    """Return the identity that a fence's lines state, if it has no other lines, and the remaining content."""
    lines = [line for line in text.splitlines() if line.strip(" \t{}")]
    statement = _statement_of_lines(lines) if lines and all(map(_parse_line, lines)) else None
    return ([], text) if statement is None else ([statement], "")


def _find_in_lines(text: str) -> tuple[list[Mapping[str, object]], str]:
    """Return the identities that the `name: value` lines of a text state, and the text without those lines."""
    statements: list[Mapping[str, object]] = []
    kept: list[str] = []
    group: list[str] = []
    for line in [*text.splitlines(keepends=True), ""]:
        if line and _parse_line(line):
            group.append(line)
            continue
        statement = _statement_of_lines(group)
        if statement is None:
            kept.extend(group)
        else:
            statements.append(statement)
        group = []
        kept.append(line)
    return statements, "".join(kept)


def _statement_of_lines(lines: Sequence[str]) -> Mapping[str, object] | None:
    """Return the identity that consecutive lines state; None if they state none, or the name is a sentence."""
    pairs = [pair for pair in map(_parse_line, lines) if pair is not None]
    statement = dict(pairs)
    name = statement.get("model_name") if len(statement) == len(pairs) else None
    return statement if isinstance(name, str) and len(name.split()) <= NAME_WORDS_MAX else None


def _parse_line(line: str) -> tuple[str, object] | None:
    """Return name and value of a `name: value` line whose name is an identity field; None for other lines."""
    if ":" not in line or len(line) > 2 * LABEL_CHARS_MAX:
        return None
    name, colon, value = line.strip(_ornament).partition(":")
    field = _fields.get(_normalize_field(name)) if len(name) <= _LINE_FIELD_CHARS_MAX else None
    text = value.strip(_ornament + ",")
    has_several = ": " in text or (", " in text and field == "model_name")
    return (field, text) if colon and field and text and not has_several and not _json_signs & set(text) else None


def _identity(statement: Mapping[str, object]) -> ModelIdentity | str:
    """Build an identity from a statement, or describe why it is not valid."""
    name = statement["model_name"]
    if not isinstance(name, str) or isinstance(name, _Number):
        return f"its model_name is no text, but {_json_kind(name)}"
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
    """Return an optional field's text; None for other JSON types, placeholders, and texts that are too long."""
    text = one_line(value) if isinstance(value, str) else ""
    return text if 0 < len(text) <= LABEL_CHARS_MAX and not (text[0] == "<" and text[-1] == ">") else None


def _json_kind(value: object) -> str:
    """Describe the kind of a JSON value in words."""
    kinds = {type(None): "null", bool: "true or false", _Number: "a number", list: "a list", dict: "an object"}
    return kinds.get(type(value), "something else")
