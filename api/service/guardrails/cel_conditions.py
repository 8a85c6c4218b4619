"""Compile expressions in CEL, as rule files have them, to conditions.

Supported is what CSTP documents: comparisons of `action.FIELD` and `action.context.FIELD` with values, `in` a list,
`contains`, `has`, `size` compared with 0, a field by itself, `!`, `&&`, `||` and parentheses. Everything else is an
error, and no rule is set. The result is in conjunctive normal form: one condition of each group must hold.

This part of CEL is written in Python with other words, so Python's parser reads it; nothing is ever evaluated. Names
get the prefix `_`, so that none is a word of Python.
"""

import ast
import re
from functools import reduce
from typing import Any

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
_WORDS = {"&&": "and", "||": "or", "!": "not", "true": "True", "false": "False", "in": "in"}
_RELATIONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "lte", ast.Gt: "gt", ast.GtE: "gte"
}  # fmt: skip
_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "lte": "gte", "gt": "lt", "gte": "lte"}
_OPPOSITES = {
    "eq": "ne", "lt": "gte", "lte": "gt", "in": "not_in", "contains": "not_contains", "truthy": "falsy",
    "present": "missing",
}  # fmt: skip
_OPPOSITES |= {opposite: operator for operator, opposite in _OPPOSITES.items()}
_MALFORMED = "its parts do not fit together"
_EMPTINESS = {("eq", 0): "falsy", ("lt", 1): "falsy", ("gt", 0): "truthy", ("ne", 0): "truthy", ("gte", 1): "truthy"}
"""What a comparison of a size with a number says of the field."""


class UnsupportedExpression(Exception):
    """An expression that is malformed, or uses what is not supported. The text names it."""


def compile_expression(text: str) -> list[Clause]:
    """Return the groups of conditions of an expression. Errors: UnsupportedExpression."""
    if len(text) > EXPRESSION_CHARS_MAX:
        raise UnsupportedExpression(f"it has more than {EXPRESSION_CHARS_MAX:,} characters")
    try:
        tree = ast.parse(_to_python(text), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise UnsupportedExpression(_MALFORMED) from None
    return _clauses(tree.body)


def _to_python(text: str) -> str:
    """Return an expression in the words of Python. Errors: UnsupportedExpression."""
    words: list[str] = []
    groups: list[bool] = []  # of each open parenthesis, whether it is that of a call
    before, end, negations, closed_group = "", 0, 0, False
    while text[end:].strip():
        match = _token.match(text, end)
        if match is None or match.lastgroup is None:
            raise UnsupportedExpression(f"{text[end:].strip()[:20]!r} is not supported")
        kind, word, end = match.lastgroup, match[match.lastgroup], match.end()
        operand = kind in ("number", "text") or (kind == "name" and (word != "in" or before == "."))
        # What Python would read otherwise: a text beside another one, a comma at an end, a group that is compared.
        if (
            (operand and before in ("operand", ")", "]"))
            or (before == "," and word in (")", "]"))
            or (closed_group and word not in ("&&", "||", ")"))
        ):
            raise UnsupportedExpression(f"{word!r} is not expected there")
        negations = negations + 1 if word == "!" else 0
        closed_group = word == ")" and bool(groups) and not groups.pop()
        if word == "(":
            groups.append(before == "operand")
        if len(groups) > DEPTH_MAX or negations > DEPTH_MAX:
            raise UnsupportedExpression(f"it nests more than {DEPTH_MAX} deep")
        words.append(_word(kind, word, is_member=before == "."))
        before = "operand" if operand else word
    if not words:
        raise UnsupportedExpression("it is empty")
    if before not in ("operand", ")", "]"):
        raise UnsupportedExpression("it ends too early")
    if groups:
        raise UnsupportedExpression("')' is missing before 'its end'")
    return " ".join(words)


def _word(kind: str, word: str, *, is_member: bool) -> str:
    if kind == "number":
        return repr(float(word) if any(mark in word for mark in ".eE") else int(word))
    if kind == "text":
        return repr(re.sub(r"\\(.)", r"\1", word[1:-1]))
    return f"_{word}" if kind == "name" and (is_member or word not in _WORDS) else _WORDS.get(word, word)


def _clauses(node: ast.expr, depth: int = 0, *, negated: bool = False) -> list[Clause]:
    """Return the conjunctive normal form of a part of an expression, or of its negation."""
    if depth > DEPTH_MAX:
        raise UnsupportedExpression(f"it nests more than {DEPTH_MAX} deep")
    match node:
        case ast.BoolOp(operation, parts):
            both = isinstance(operation, ast.And) is not negated
            return reduce(
                lambda left, part: _join(left, _clauses(part, depth + 1, negated=negated), both=both),
                parts[1:],
                _clauses(parts[0], depth + 1, negated=negated),
            )
        case ast.UnaryOp(ast.Not(), part):
            return _clauses(part, depth + 1, negated=not negated)
    stated = _condition(node)
    operator: Any = _OPPOSITES[stated.operator] if negated else stated.operator
    return [with_default(GuardrailCondition(field=stated.field, operator=operator, value=stated.value))]


def _condition(node: ast.expr) -> GuardrailCondition:
    match node:
        case ast.Compare(left, [ast.In()], [ast.List(items)]):
            return _make(_field(left), "in", tuple(map(_value, items)))
        case ast.Compare(left, [relation], [right]) if type(relation) in _RELATIONS:
            operator = _RELATIONS[type(relation)]
            if _is_value(left):
                left, operator, right = right, _MIRRORED[operator], left
            if _is_value(left) or not _is_value(right):
                raise UnsupportedExpression("a comparison needs a field on one side and a value on the other")
            if not isinstance(left, ast.Call):
                return _make(_field(left), operator, _value(right))
            emptiness = _EMPTINESS.get((operator, _value(right)))
            if emptiness is None:
                raise UnsupportedExpression("size can be compared with 0 only")
            return _make(_argument(left, "_size"), emptiness, None)
        case ast.Call(ast.Attribute(owner, "_contains"), [value]):
            return _make(_field(owner), "contains", _value(value))
        case ast.Call():
            return _make(_argument(node, "_has"), "present", None)
        case ast.Attribute() | ast.Name():
            return _make(_field(node), "truthy", None)
    raise UnsupportedExpression("a value by itself is not a condition" if _is_value(node) else _MALFORMED)


def _argument(call: ast.Call, function: str) -> str:
    """Return the field in the call of a function. Errors: UnsupportedExpression, for another one."""
    match call:
        case ast.Call(ast.Name(name), [field]) if name == function:
            return _field(field)
    name = getattr(call.func, "attr", getattr(call.func, "id", "_..."))
    raise UnsupportedExpression(f"the function {name[1:]!r} is not supported there")


def _field(node: ast.expr) -> str:
    """Return the field of `action.FIELD` or `action.context.FIELD`. Errors: UnsupportedExpression."""
    names: list[str] = []
    part = node
    while isinstance(part, ast.Attribute):
        names.insert(0, part.attr[1:])
        part = part.value
    names.insert(0, part.id[1:] if isinstance(part, ast.Name) else "...")
    match names:
        case ["action", "context", field] | ["action", field]:
            return field
    raise UnsupportedExpression(f"{'.'.join(names)!r} is not action.FIELD or action.context.FIELD")


def _is_value(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub))


def _value(node: ast.expr) -> Any:  # noqa: ANN401 - a literal
    if not _is_value(node):
        raise UnsupportedExpression("a list after `in`, and a function, has only values")
    return ast.literal_eval(node)


def _make(field: str, operator: Any, value: object) -> GuardrailCondition:  # noqa: ANN401
    try:
        return make_condition(field, operator, value)
    except UnusableValue as error:
        problem = error.problem.removeprefix("cannot be compared: ")
        raise UnsupportedExpression(f"it {problem}" if problem.startswith("compares ") else problem) from None


def _join(left: list[Clause], right: list[Clause], *, both: bool) -> list[Clause]:
    """Return the groups by which both sides hold, or one of them. Errors: UnsupportedExpression."""
    joined = left + right if both else [[*a, *b] for a in left for b in right]
    if len(joined) > CLAUSES_MAX:
        raise UnsupportedExpression(f"it has more than {CLAUSES_MAX} combinations of conditions")
    return joined
