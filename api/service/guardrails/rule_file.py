"""Read CSTP's rule files: YAML with a list of rules, one rule, or a mapping with `guardrails`.

A key, operator or condition that is not supported is an error that names it. A rule of which a part was ignored would
let through what its author meant to stop.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import msgspec

from api.service.guardrails.cel_conditions import UnsupportedExpression, compile_expression
from api.service.guardrails.field_types import QUALITY, UnusableValue, make_condition, with_default
from api.service.guardrails.rule_yaml import Written, plain_value, read_rule_yaml
from events.errors import InvalidEvent
from events.guardrail import ORDERING, GuardrailAction, GuardrailCondition, GuardrailSet
from events.limits import ITEMS_MAX, STREAM_ID_CHARS_MAX
from events.payload import STREAM_ID_PATTERN, STREAM_ID_SHAPE
from instruments.yaml_reader import UnreadableFile

RULE_FILE_BYTES_MAX = 1024 * 1024

_KEYS = ("id", "description", "message", "action", "scope", "condition", "conditions", "requires")
_WRAPPER = frozenset({"guardrails", "template"})
_TYPES = frozenset({"field", "compound"})
_OPERATORS = {"<": "lt", ">": "gt", "<=": "lte", ">=": "gte", "==": "eq", "=": "eq", "!=": "ne"}
_NAMED = ("eq", "ne", "lt", "gt", "lte", "gte", "in", "contains")
_SUFFIXES = ("_lt", "_lte", "_gt", "_gte")
_ALIASES = {"quality": QUALITY}
_leading = re.compile(r"\s*([<>=!]+)\s*(.*)", re.DOTALL)
_id = re.compile(STREAM_ID_PATTERN, re.ASCII)

Conditions = list[GuardrailCondition]


class _Wrong(Exception):
    """A key of a rule whose value cannot be used: the key, the problem, and the advice."""


def read_rules(body: bytes) -> list[GuardrailSet]:
    """Return the rules of a file, in their order. Errors: InvalidEvent, naming the rule, the key and the problem."""
    if len(body) > RULE_FILE_BYTES_MAX:
        raise _file_error(f"is larger than {RULE_FILE_BYTES_MAX:,} bytes", "Set the rules in several files.")
    try:
        value = read_rule_yaml(body)
    except UnreadableFile as error:
        raise _file_error(str(error), error.advice) from None
    items = _items(value)
    rules = [_rule(item, index) for index, item in enumerate(items)]
    first: dict[str, int] = {}
    for index, rule in enumerate(rules):
        earlier = first.setdefault(rule.guardrail_id, index)
        if earlier != index:
            raise _rule_error(index, rule.guardrail_id, "id", f"is the id of rule {earlier + 1}, too", "Rename one.")
    return rules


def _items(value: object) -> list[Any]:
    """Return the rules of a document. Errors: InvalidEvent."""
    if isinstance(value, dict) and "guardrails" in value:
        if unknown := sorted(value.keys() - _WRAPPER):
            raise _file_error(f"has the key {unknown[0]!r} beside guardrails", "Keep only guardrails and template.")
        value = value["guardrails"]
    if isinstance(value, dict):
        if "circuit_breakers" in value:
            raise _file_error("lists circuit breakers, not guardrails", "Set a file of guardrails.")
        value = [value]
    if not isinstance(value, list) or not value:
        raise _file_error("has no rules", "Write a list of rules, each with an id, conditions and an action.")
    if len(value) > ITEMS_MAX:
        raise _file_error(f"has {len(value):,} rules; at most {ITEMS_MAX} can be in force", "Set fewer.")
    return value


def _rule(item: object, index: int) -> GuardrailSet:
    """Return one rule. Errors: InvalidEvent."""
    if not isinstance(item, dict):
        raise _rule_error(index, None, "", "is not a mapping", "Write each rule as keys and values.")
    name = item.get("id")
    if not isinstance(name, str) or _id.fullmatch(name) is None or len(name) > STREAM_ID_CHARS_MAX:
        raise _rule_error(index, None, "id", f"must be {STREAM_ID_SHAPE}, got {name!r}", "Give each rule an id.")
    try:
        return _decode(str(name), item)
    except _Wrong as error:
        key, problem, advice = error.args
        raise _rule_error(index, name, key, problem, advice) from None
    except ValueError as error:
        raise _rule_error(index, name, "", f"cannot be set: {error}", "Correct it.") from None


def _decode(name: str, item: Mapping[str, Any]) -> GuardrailSet:
    for key in item:
        if key not in _KEYS and not key.startswith(("condition_", "requires_")):
            raise _Wrong(key, "is not a key of a guardrail", f"Use {', '.join(_KEYS)}, condition_F or requires_F.")
    action = item.get("action", "warn")
    if action not in get_args(GuardrailAction):
        raise _Wrong("action", f"must be block, warn or log, got {action!r}", "Correct it.")
    conditions, any_of, expression = _conditions(item)
    requirements = [_requirement(key, field, value) for key, field, value in _required(item)]
    if not (conditions or any_of or requirements):
        raise _Wrong("condition", "is missing, and so are requirements: every action would fire it", "Add one.")
    rule = GuardrailSet(
        guardrail_id=name,
        action=action,
        description=_text(item, "description"),
        message=_text(item, "message"),
        scope=_scope(item.get("scope")),
        conditions=tuple(conditions),
        any_of=tuple(tuple(group) for group in any_of),
        requirements=tuple(requirements),
        expression=expression,
    )
    return msgspec.convert(msgspec.to_builtins(rule), GuardrailSet)  # checks the limits, which a constructor does not


def _conditions(item: Mapping[str, Any]) -> tuple[Conditions, list[Conditions], str | None]:
    """Return the conditions of which all must hold, the groups of which one must hold, and the text in CEL."""
    conditions = [
        _condition(key, key.removeprefix("condition_"), value)
        for key, value in item.items()
        if key.startswith("condition_")
    ]
    any_of: list[Conditions] = []
    expression = None
    stated = item.get("condition")
    if isinstance(stated, dict) and set(stated) == {"cel"}:
        stated = stated["cel"]
    if isinstance(stated, str):
        expression = stated
        clauses = _compiled(stated)
    elif isinstance(stated, dict):
        clauses = [with_default(_map_condition(key, value)) for key, value in stated.items()]
    elif stated is None:
        clauses = []
    else:
        raise _Wrong("condition", f"must be a mapping or an expression, got {stated!r}", "Correct it.")
    listed = item.get("conditions")
    if listed is not None and not isinstance(listed, list):
        raise _Wrong("conditions", "must be a list", "Write each condition as an item.")
    for index, each in enumerate(listed or ()):
        clauses += _listed(each, f"conditions[{index}]")
    conditions += [clause[0] for clause in clauses if len(clause) == 1]
    any_of += [clause for clause in clauses if len(clause) > 1]
    return conditions, any_of, expression


def _compiled(text: str) -> list[Conditions]:
    try:
        return compile_expression(text)
    except UnsupportedExpression as error:
        advice = "Use comparisons of action.FIELD, in, contains, has, size, &&, || and !; or write condition_F."
        raise _Wrong("condition", f"is not an expression that can be evaluated: {error}", advice) from None


def _condition(key: str, field: str, value: object) -> GuardrailCondition:
    """Return a condition with a leading operator in its value, or an equality."""
    if any(field.endswith(suffix) for suffix in _SUFFIXES):
        base = field.rpartition("_")[0]
        advice = f'Write condition_{base}: "< VALUE", or condition: {{{field}: VALUE}}.'
        raise _Wrong(key, "has the operator in its name", advice)
    return _compare(key, field, value)


def _map_condition(field: str, value: object) -> GuardrailCondition:
    key = f"condition.{field}"
    base, _, suffix = field.rpartition("_")
    if base and f"_{suffix}" in _SUFFIXES:
        return _built(key, _ALIASES.get(base, base), suffix, value)
    return _compare(key, field, value)


def _compare(key: str, field: str, value: object) -> GuardrailCondition:
    match = _leading.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return _built(key, field, "eq", value)
    operator = _OPERATORS.get(match[1])
    if operator is None:
        raise _Wrong(key, f"has the unknown operator {match[1]!r}", f"Use one of {' '.join(_OPERATORS)}.")
    return _built(key, field, operator, _plain(match[2].strip()))


def _plain(text: str) -> object:
    """Return what follows an operator: a number if it is one, or else the text without quotes."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    value = plain_value(text)
    if isinstance(value, Written):
        return value if value.boolean is None else text
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else text


def _built(key: str, field: str, operator: Any, value: object) -> GuardrailCondition:  # noqa: ANN401
    """Return a condition. Errors: _Wrong, for a value that the operator cannot compare."""
    if operator in ORDERING and type(value) is str:
        value = _plain(value)
    try:
        return make_condition(field, operator, value)
    except UnusableValue as error:
        raise _Wrong(key, error.problem, error.advice) from None


def _listed(item: object, key: str) -> list[Conditions]:
    """Return the groups of an item of `conditions`: a field, or a compound of fields."""
    if not isinstance(item, dict):
        raise _Wrong(key, "must be a mapping", "Write type, field, operator and value.")
    kind = item.get("type", "field")
    if kind not in _TYPES:
        raise _Wrong(
            f"{key}.type", f"{kind!r} is not supported", "Use field or compound; write other rules outside the ledger."
        )
    allowed = {"type", "field", "operator", "value"} if kind == "field" else {"type", "operator", "conditions"}
    if unknown := sorted(item.keys() - allowed):
        raise _Wrong(f"{key}.{unknown[0]}", f"is not a key of a {kind} condition", f"Use {', '.join(sorted(allowed))}.")
    if kind == "field":
        return [[_field_condition(item, key)]]
    operator, inner = str(item.get("operator", "and")).lower(), item.get("conditions")
    if operator not in ("and", "or") or not isinstance(inner, list) or not inner:
        raise _Wrong(key, "must have the operator and or or, and a list of conditions", "Correct it.")
    groups = [_listed(each, f"{key}.conditions[{index}]") for index, each in enumerate(inner)]
    if operator == "and":
        return [group for each in groups for group in each]
    if any(len(each) > 1 for each in groups):
        raise _Wrong(key, "has an `and` inside an `or`, which is not supported", "Write one rule for each alternative.")
    return [[condition for each in groups for condition in each[0]]]


def _field_condition(item: Mapping[str, Any], key: str) -> GuardrailCondition:
    field, operator = item.get("field"), item.get("operator", "eq")
    if not isinstance(field, str) or not field:
        raise _Wrong(f"{key}.field", "must name a field", "Name the field that is compared.")
    if operator not in _NAMED:
        raise _Wrong(f"{key}.operator", f"{operator!r} is not an operator", f"Use one of {', '.join(_NAMED)}.")
    value = item.get("value")
    if operator == "eq" and isinstance(value, str):
        return _compare(f"{key}.value", field, value)
    return _built(f"{key}.value", field, operator, value)


def _required(item: Mapping[str, Any]) -> Iterator[tuple[str, str, object]]:
    """Yield the key, field and value of each requirement. Errors: _Wrong."""
    nested = item.get("requires")
    if nested is not None and not isinstance(nested, dict):
        raise _Wrong("requires", "must be a mapping", "Write requires: {FIELD: VALUE}, or requires_FIELD: VALUE.")
    for field, value in (nested or {}).items():
        yield f"requires.{field}", field, value
    for key, value in item.items():
        if key.startswith("requires_"):
            yield key, key.removeprefix("requires_"), value


def _requirement(key: str, field: str, value: object) -> GuardrailCondition:
    if isinstance(value, bool):
        return _built(key, field, "truthy" if value else "falsy", None)
    return _compare(key, field, value)


def _scope(value: object) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(name, str) and name for name in names):
        raise _Wrong("scope", f"must be a project or a list of projects, got {value!r}", "Name projects.")
    return tuple(map(str, names))


def _text(item: Mapping[str, Any], key: str) -> str | None:
    value = item.get(key)
    if value is not None and not isinstance(value, str):
        raise _Wrong(key, "must be a text", "Put it in quotes.")
    return None if value is None else str(value)


def _file_error(problem: str, advice: str) -> InvalidEvent:
    return InvalidEvent(f"The rule file {problem}.", f"{advice} No rule was set.", field="yaml")


def _rule_error(index: int, name: str | None, key: str, problem: str, advice: str) -> InvalidEvent:
    which = f"Rule {index + 1}" if name is None else f"Rule {index + 1} ({name})"
    detail = f"{which}: {key} {problem}." if key else f"{which} {problem}."
    return InvalidEvent(detail, f"{advice} No rule was set.", field=key or None, index=index)
