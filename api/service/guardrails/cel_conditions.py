"""Compile expressions in CEL, as rule files have them, to conditions.

Supported is what CSTP documents: comparisons of `action.FIELD` and `action.context.FIELD` with values, `in` a list,
`contains`, `has`, `size` compared with 0, a field by itself, `!`, `&&`, `||` and parentheses. Everything else is an
error, and no rule is set. The result is in conjunctive normal form: one condition of each group must hold.
"""

import re
from typing import Any, NamedTuple

from api.service.guardrails.field_types import UnusableValue, make_condition, with_default
from events.guardrail import GuardrailCondition

CLAUSES_MAX = 64
"""Groups of a compiled expression."""

EXPRESSION_CHARS_MAX = 4_096
DEPTH_MAX = 32

Clause = list[GuardrailCondition]

_token = re.compile(
    r"""\s*(?:(?P<number>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|(?P<text>"(?:[^"\\]|\\["'\\])*"|'(?:[^'\\]|\\["'\\])*')"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<symbol>&&|\|\||==|!=|<=|>=|[<>!().,\[\]]))""",
    re.ASCII,
)
_RELATIONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte"}
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "lte": "gte", "gt": "lt", "gte": "lte"}
_OPPOSITES = {
    "eq": "ne", "lt": "gte", "lte": "gt", "in": "not_in", "contains": "not_contains", "truthy": "falsy",
    "present": "missing",
}  # fmt: skip
_OPPOSITES |= {opposite: operator for operator, opposite in _OPPOSITES.items()}
_CONSTANTS: dict[str, object] = {"true": True, "false": False}


class UnsupportedExpression(Exception):
    """An expression that is malformed, or uses what is not supported. The text names it."""


class _Value(NamedTuple):
    """A literal."""

    value: Any


class _Field(NamedTuple):
    """A field of the action."""

    name: str


class _Size(NamedTuple):
    """`size(FIELD)`."""

    field: str


_Operand = _Value | _Field | _Size


def compile_expression(text: str) -> list[Clause]:
    """Return the groups of conditions of an expression. Errors: UnsupportedExpression."""
    if len(text) > EXPRESSION_CHARS_MAX:
        raise UnsupportedExpression(f"it has more than {EXPRESSION_CHARS_MAX:,} characters")
    parser = _Parser(text)
    clauses = parser.either(0, negated=False)
    parser.expect_end()
    return clauses


class _Parser:
    """A recursive-descent parser that returns the conjunctive normal form of what it reads, or of its negation.

    `depth` bounds parentheses and negations.
    """

    def __init__(self, text: str) -> None:
        self._tokens = list(_split(text))
        self._next = 0

    def either(self, depth: int, *, negated: bool) -> list[Clause]:
        clauses = self._both(depth, negated=negated)
        while self._take("||"):
            clauses = _join(clauses, self._both(depth, negated=negated), both=negated)
        return clauses

    def expect_end(self) -> None:
        if self._next < len(self._tokens):
            raise UnsupportedExpression(f"{self._tokens[self._next][1]!r} is not expected there")

    def _both(self, depth: int, *, negated: bool) -> list[Clause]:
        clauses = self._negation(depth, negated=negated)
        while self._take("&&"):
            clauses = _join(clauses, self._negation(depth, negated=negated), both=not negated)
        return clauses

    def _negation(self, depth: int, *, negated: bool) -> list[Clause]:
        if depth > DEPTH_MAX:
            raise UnsupportedExpression(f"it nests more than {DEPTH_MAX} deep")
        if self._take("!"):
            return self._negation(depth + 1, negated=not negated)
        if self._take("("):
            clauses = self.either(depth + 1, negated=negated)
            self._expect(")")
            return clauses
        stated = self._relation()
        operator: Any = _OPPOSITES[stated.operator] if negated else stated.operator
        return [with_default(GuardrailCondition(field=stated.field, operator=operator, value=stated.value))]

    def _relation(self) -> GuardrailCondition:
        left = self._operand()
        if isinstance(left, GuardrailCondition):
            return left
        if self._take("in"):
            return _make(left, "in", self._list())
        for symbol, operator in _RELATIONS.items():
            if self._take(symbol):
                return _compare(left, operator, self._operand())
        if not isinstance(left, _Field):
            raise UnsupportedExpression("a value by itself is not a condition")
        return _make(left, "truthy", None)

    def _operand(self) -> _Operand | GuardrailCondition:
        kind, text = self._advance()
        if kind == "number":
            return _Value(float(text) if any(mark in text for mark in ".eE") else int(text))
        if kind == "text":
            return _Value(re.sub(r"\\(.)", r"\1", text[1:-1]))
        if kind == "name" and text in _CONSTANTS:
            return _Value(_CONSTANTS[text])
        if kind == "name" and text in ("size", "has"):
            self._expect("(")
            field = self._path(self._advance()[1])
            self._expect(")")
            return _Size(field.name) if text == "size" else _make(field, "present", None)
        if kind != "name":
            raise UnsupportedExpression(f"{text!r} is not expected there")
        return self._member(text)

    def _member(self, first: str) -> _Field | GuardrailCondition:
        """Return a field, or a call of one of its methods."""
        field = self._path(first)
        if not self._take("("):
            return field
        name, _, method = field.name.rpartition(".")
        argument = self._operand()
        self._expect(")")
        if method != "contains" or not name or not isinstance(argument, _Value):
            raise UnsupportedExpression(f"the function {method!r} is not supported")
        return _make(_Field(name), "contains", argument.value)

    def _path(self, first: str) -> _Field:
        """Return the field of `action.FIELD` or `action.context.FIELD`; a method's name remains at its end."""
        names = [first]
        while self._take("."):
            kind, text = self._advance()
            if kind != "name":
                raise UnsupportedExpression(f"{text!r} is not the name of a field")
            names.append(text)
        if names[0] != "action" or len(names) < 2:
            raise UnsupportedExpression(f"{'.'.join(names)!r} is not action.FIELD or action.context.FIELD")
        rest = names[2:] if names[1] == "context" and len(names) > 2 else names[1:]
        is_call = self._peek() == "("
        if len(rest) != 1 + is_call:
            raise UnsupportedExpression(f"{'.'.join(names)!r} is not action.FIELD or action.context.FIELD")
        return _Field(".".join(rest))

    def _list(self) -> tuple[object, ...]:
        self._expect("[")
        values: list[object] = []
        while not self._take("]"):
            if values:
                self._expect(",")
            item = self._operand()
            if not isinstance(item, _Value):
                raise UnsupportedExpression("a list after `in` has only values")
            values.append(item.value)
        return tuple(values)

    def _peek(self) -> str | None:
        if self._next == len(self._tokens) or self._tokens[self._next][0] == "text":
            return None
        return self._tokens[self._next][1]

    def _take(self, text: str) -> bool:
        taken = self._peek() == text
        self._next += taken
        return taken

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise UnsupportedExpression(f"{text!r} is missing before {self._peek() or 'its end'!r}")

    def _advance(self) -> tuple[str, str]:
        if self._next == len(self._tokens):
            raise UnsupportedExpression("it ends too early")
        self._next += 1
        return self._tokens[self._next - 1]


def _split(text: str) -> list[tuple[str, str]]:
    tokens, end = [], 0
    while text[end:].strip():
        match = _token.match(text, end)
        if match is None:
            raise UnsupportedExpression(f"{text[end:].strip()[:20]!r} is not supported")
        assert match.lastgroup is not None
        tokens.append((match.lastgroup, match[match.lastgroup]))
        end = match.end()
    if not tokens:
        raise UnsupportedExpression("it is empty")
    return tokens


def _compare(left: _Operand, operator: str, right: _Operand | GuardrailCondition) -> GuardrailCondition:
    if isinstance(left, _Value) and isinstance(right, _Field | _Size):
        left, operator, right = right, _MIRRORED[operator], left
    if not isinstance(right, _Value) or isinstance(left, _Value):
        raise UnsupportedExpression("a comparison needs a field on one side and a value on the other")
    if isinstance(left, _Field):
        return _make(left, operator, right.value)
    emptiness = {("eq", 0): "falsy", ("lt", 1): "falsy", ("gt", 0): "truthy", ("ne", 0): "truthy", ("gte", 1): "truthy"}
    name = emptiness.get((operator, right.value))
    if name is None:
        raise UnsupportedExpression("size can be compared with 0 only")
    return _make(_Field(left.field), name, None)


def _make(operand: _Operand, operator: Any, value: object) -> GuardrailCondition:  # noqa: ANN401
    if not isinstance(operand, _Field):
        raise UnsupportedExpression(f"{operator!r} needs a field before it")
    try:
        return make_condition(operand.name, operator, value)
    except UnusableValue as error:
        problem = error.problem.removeprefix("cannot be compared: ")
        raise UnsupportedExpression(f"it {problem}" if problem.startswith("compares ") else problem) from None


def _join(left: list[Clause], right: list[Clause], *, both: bool) -> list[Clause]:
    """Return the groups by which both sides hold, or one of them. Errors: UnsupportedExpression."""
    joined = left + right if both else [[*a, *b] for a in left for b in right]
    if len(joined) > CLAUSES_MAX:
        raise UnsupportedExpression(f"it has more than {CLAUSES_MAX} combinations of conditions")
    return joined
