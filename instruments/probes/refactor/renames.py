"""Match names of the original function with those of the refactored one: function, parameters, returned locals."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from tree_sitter import Node

from instruments.probes.refactor.language import Language
from instruments.probes.refactor.source import Declaration, ParameterDeclaration, ParsedSource

Pair = tuple[str, set[str]]
"""A name of the original, and the names that may replace it; empty if its use has disappeared."""
Fits = Callable[[ParameterDeclaration, ParameterDeclaration], bool]


def name_pairs(
    original: Declaration, originals: ParsedSource, entry: Declaration, source: ParsedSource, language: Language
) -> list[Pair]:
    """Pair each name of the original: its own, those of its parameters, and those of the locals that it returns."""
    return [
        (original.name, {entry.name}),
        *_parameter_pairs(original.parameters, entry.parameters),
        *_local_pairs(_result_locals(original, originals, language), _result_locals(entry, source, language), entry),
    ]


def _parameter_pairs(before: Sequence[ParameterDeclaration], after: Sequence[ParameterDeclaration]) -> list[Pair]:
    """Pair the parameters by position and type.

    Typed parameters match those of the same type, at the same position if possible. An untyped parameter matches the
    one of the same name, else the next unmatched one.
    """
    aligned: dict[int, ParameterDeclaration] = {}
    left = dict(enumerate(after))
    for index, parameter in enumerate(before):
        if parameter.type is not None and index in left and left[index].type == parameter.type:
            aligned[index] = left.pop(index)
    rules: tuple[Fits, ...] = (
        lambda parameter, other: (parameter.type is None or other.type is None) and parameter.name == other.name,
        lambda parameter, other: parameter.type is None or other.type is None or parameter.type == other.type,
    )
    for fits in rules:
        for index, parameter in enumerate(before):
            position = next((position for position, other in left.items() if fits(parameter, other)), None)
            if index not in aligned and position is not None:
                aligned[index] = left.pop(position)
    now = {index: parameter.name for index, parameter in aligned.items()}
    return [
        (parameter.name, {name} if (name := now.get(index)) not in {None, "_"} and name else set())
        for index, parameter in enumerate(before)
        if parameter.name
    ]


def _local_pairs(before: dict[int, set[str]], after: dict[int, set[str]], entry: Declaration) -> Iterator[Pair]:
    """Pair locals by the result that they give.

    A local that keeps its name and only passes its value on to the returned one matches itself.
    """
    done: set[str] = set()
    for position, names in sorted(before.items()):
        now = after.get(position, set())
        for name in sorted(names - done):
            done.add(name)
            kept = name in _value_sources(now, entry) if now else name in entry.locals
            yield name, {name} if kept else now


def _value_sources(names: set[str], function: Declaration) -> set[str]:
    """Return some locals, and those whose value is assigned to them directly, without calculation."""
    values: dict[str, set[str]] = defaultdict(set)
    possible = function.locals
    for node in function.assignments:
        left = node.child_by_field_name("left") or node.child_by_field_name("name")
        right = node.child_by_field_name("right") or node.child_by_field_name("value")
        if left is not None and right is not None:
            into, sources = function.used_in(left), function.used_in(right) & possible
            for name in into - sources:
                values[name] |= sources
    found = set(names)
    pending = list(names)
    while pending:
        new = values[pending.pop()] - found
        found |= new
        pending.extend(new)
    return found


def _result_locals(entry: Declaration, source: ParsedSource, language: Language) -> dict[int, set[str]]:
    """Return the locals that give each result, by the result's position.

    If a function returns the result of another function, the locals are those of the other.
    """
    functions = {function.name: function for function in source.functions}
    types = {name for found in source.declarations if found.kind in {"type", "error"} for name in found.names}
    roles: dict[int, set[str]] = defaultdict(set)
    seen = {(entry, 0)}
    pending = [(entry, 0)]
    while pending:
        function, first = pending.pop()
        names = function.locals if function is entry else function.variables - function.loops
        for position, result in enumerate(function.results, first):
            roles[position] |= {result.name} & names if result.name else set()
        for node in function.returns:
            parts = _returned_expressions(node, types, language)
            for position, part in enumerate(parts, first):
                callee = functions.get(_callee(part) or "")
                sources = function.used_in(part) & names
                if (
                    callee is not None
                    and (not sources or len(parts) == 1)
                    and callee not in {known for known, _ in seen}
                ):
                    seen.add((callee, position))
                    pending.append((callee, position))
                else:
                    roles[position] |= sources
    return {position: names for position, names in roles.items() if names}


def _returned_expressions(node: Node, types: set[str], language: Language) -> list[Node]:
    """Return the expressions of a return statement, with lists and literals split into their elements."""
    parts: list[Node] = []
    pending = [child for child in reversed(node.named_children) if not child.is_extra]
    while pending:
        found = pending.pop()
        if found.type in language.composite_kinds:
            inner = found.child_by_field_name("value") or found.child_by_field_name("body")
            pending += [inner] if inner else [child for child in reversed(found.named_children) if not child.is_extra]
        elif _callee(found) in types and (arguments := found.child_by_field_name("arguments")) is not None:
            pending.append(arguments)
        else:
            parts.append(found)
    return parts


def _callee(node: Node) -> str | None:
    """Return the name that a call calls; None if the node is not a call."""
    callee = node.child_by_field_name("function")
    return None if callee is None else (callee.text or b"").decode()
