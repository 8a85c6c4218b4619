"""Every parameter of every method, found through the shapes that decode it, and values that none of them admits."""

import dis
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import inspect as kinds

from api.cstp.method_table import METHODS
from api.cstp.params_schema import ParamsSchema
from api.type_description import strip_annotations

INSIDE: Mapping[str, tuple[str, ...]] = {
    "_amendment": ("updates",),
    "_evidence": ("evidence", "12"),
    "_action": ("action",),
}
"""Shapes that are nested in a parameter of the method, by name."""

NEEDED: Mapping[str, tuple[dict[str, object], tuple[str, ...]]] = {
    "ingestEvidence": ({"events": [{"event_type": "x"}]}, ("events",)),
    "attributeOutcomes": ({"project": "p"}, ("project",)),
    "preAction": ({"action": {"description": "x"}}, ("action",)),
    "updateDecision": ({"id": "nosuchid"}, ("id", "decision_id", "decisionId")),
}
"""What a method asks for before it looks at the rest, and the parameters that are that."""

OVERRULED = {("preAction", "decision"), *(("ingestEvidence", name) for name in ("events", "events[1].payload"))}
"""Parameters that another parameter overrides, or whose errors have the protocol's own words."""

FILTERED = [name for name in ("getCalibration", "queryDecisions", "getReasonStats") if f"cstp.{name}" in METHODS]
"""Methods that also accept their parameters within `filters`."""

AS_OF = ("getGraph", "getNeighbors", "listBreakers", "getCircuitState")

ADMITTED = {
    **{("queryDecisions", name): str for name in ("tags", "status", "stakes")},
    **{(method, name): int for method in AS_OF for name in ("asOf", "as_of")},
}
"""A type that a method takes where the shape has another."""

HUGE = 10**400


class Parameter(NamedTuple):
    """A parameter as a caller may spell it, the way to it, and what it admits; `values` are such as it does not."""

    method: str
    path: tuple[str | int, ...]
    kind: object
    item: ParamsSchema[Any] | None
    many: bool
    is_number: bool
    words: frozenset[object] | None
    """The words of a field that ignores others."""

    @property
    def name(self) -> str:
        """As errors write it."""
        parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path]
        return "".join(parts).removeprefix(".")

    @property
    def values(self) -> list[object]:
        found = _many_structs(self.kind) if self.item is not None and self.many else None
        if found is None:
            found = (
                ["x", 5, True, [], [{}]] if self.item is not None else list(_values(strip_annotations(info(self.kind))))
            )
        admitted = ADMITTED.get((self.method, str(self.path[-1])))
        return [
            value for value in found if not (admitted and isinstance(value, admitted)) and not self.tolerates(value)
        ]

    def tolerates(self, value: object) -> bool:
        """Whether a value is taken, though it is not of the type: a number in a text, or an unknown word."""
        if self.is_number:
            return value in ("5", "0.5")
        listed = strip_annotations(info(self.kind))
        words = value if isinstance(listed, kinds.VarTupleType) else [value]
        taken = isinstance(words, list) and words != [] and all(isinstance(word, str) for word in words)
        return self.words is not None and taken

    @property
    def bounds(self) -> list[str]:
        """What the message must say of what is admitted."""
        kind = strip_annotations(info(self.kind))
        if self.item is not None and not self.many:
            return ["an object"]
        if isinstance(kind, kinds.LiteralType):
            return [str(value) for value in kind.values]
        named = (getattr(kind, name, None) for name in ("ge", "le", "max_length"))
        return [f"{bound:g}" if isinstance(bound, float) else str(bound) for bound in named if bound is not None]

    def call(self, value: object) -> dict[str, object]:
        """Parameters of a call in which this one has a value."""
        whole: Any = value
        for part in reversed(self.path):
            whole = [{}] * part + [whole] if isinstance(part, int) else {part: whole}
        needed, spellings = NEEDED.get(self.method, ({}, ()))
        return whole if self.path[0] in spellings else {**needed, **whole}


def parameters(method: str) -> list[Parameter]:
    """Every parameter of a method, in every spelling, those within objects and lists too."""
    found = []
    for name, shape in shapes_of(METHODS[f"cstp.{method}"].answer).items():
        found += list(_parameters(method, shape, INSIDE.get(name, ())))
    return [one for one in found if (method, one.name) not in OVERRULED]


def shapes_of(function: Callable[..., Any]) -> dict[str, ParamsSchema[Any]]:
    """Return the shapes that a function uses, itself or through other functions of the CSTP interface, by name."""
    found: dict[str, ParamsSchema[Any]] = {}
    waiting, seen = [function], {function}
    while waiting:
        one = waiting.pop()
        enclosed = inspect.getclosurevars(one).nonlocals
        found |= {name: value for name, value in enclosed.items() if isinstance(value, ParamsSchema)}
        codes = [one.__code__]
        while codes:
            code = codes.pop()
            codes += [const for const in code.co_consts if inspect.iscode(const)]
            for name in (step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"):
                value = one.__globals__.get(name)
                if isinstance(value, ParamsSchema):
                    found[name] = value
                elif not inspect.isfunction(value) or value in seen:
                    continue
                elif value.__module__.startswith("api.cstp."):
                    seen.add(value)
                    waiting.append(value)
    return found


def info(kind: object) -> kinds.Type:
    return kinds.type_info(kind)


def _parameters(method: str, shape: ParamsSchema[Any], path: tuple[str | int, ...]) -> Iterator[Parameter]:
    for spelling, name in shape._field_names.items():
        field = shape._fields[name]
        at = (*path, spelling)
        yield Parameter(method, at, field.kind, field._schema, field._is_list, field.number is not None, field.words)
        if field._schema is not None:
            yield from _parameters(method, field._schema, (*at, 1) if field._is_list else at)


def _many_structs(kind: object) -> list[object]:
    listed = strip_annotations(info(kind))
    assert isinstance(listed, kinds.VarTupleType)
    found: list[object] = ["x", 5, True, {}, {"a": 1}]
    return found if listed.max_length is None else [*found, [{}] * (listed.max_length + 1)]


def _values(kind: kinds.Type) -> Iterator[object]:
    """Values of another type, and beyond each bound."""
    match kind:
        case kinds.LiteralType():
            yield from ("nope", "NaN", 5, True, [], {})
        case kinds.StrType(max_length=most):
            yield from (5, 0.5, HUGE, True, [], {}, ["a"])
            if most is not None:
                yield "x" * (most + 1)
        case kinds.FloatType(ge=low, le=high):
            yield from ("high", "0.5", "NaN", True, [], {}, HUGE, -HUGE)
            yield from ([] if low is None else [low - 1, low - 5e-17 if low else -5e-324, -1e308])
            yield from ([] if high is None else [high + 1, high + 2.3e-16, 1e308])
        case kinds.IntType(ge=low, le=high):
            yield from ("5", 1.5, 1e308, True, [], {})
            yield from ([] if low is None else [low - 1, -HUGE])
            yield from ([] if high is None else [high + 1, HUGE])
        case kinds.BoolType():
            yield from ("yes", "true", 1, 0, 0.0, [], {})
        case kinds.VarTupleType(item_type=item, max_length=most):
            yield from ("x", 5, True, {}, {"a": "b"})
            yield from ([value] for value in _values(strip_annotations(item)))
            yield [None]
            if most is not None:
                yield ["low"] * (most + 1)
        case kinds.DictType(value_type=value):
            yield from ("x", 5, True, [], [1])
            yield from ({"a": wrong} for wrong in _values(strip_annotations(value)))
        case _:
            raise AssertionError(f"no wrong values of {kind}: add them here")
