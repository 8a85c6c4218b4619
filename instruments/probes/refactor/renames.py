"""Match names of the original function with those of the refactored one: function, parameters, returned locals."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from tree_sitter import Node

from instruments.probes.refactor.language import Language
from instruments.probes.refactor.parsed_source import (
    Declaration,
    ParameterDeclaration,
    ParsedSource,
    node_text,
)

Pair = tuple[str, set[str]]
"""A name of the original, and the names that may replace it; empty if its use has disappeared."""
PairRule = Callable[[ParameterDeclaration, ParameterDeclaration], bool]


def name_pairs(
    original: Declaration, originals: ParsedSource, entry: Declaration, source: ParsedSource, language: Language
) -> list[Pair]:
    """Pair the names of the original function, of its parameters, and of the locals that it returns."""
    return [
        (original.name, {entry.name}),
        *_parameter_pairs(original.parameters, entry.parameters),
        *_local_pairs(_result_locals(original, originals, language), _result_locals(entry, source, language), entry),
    ]


def _parameter_pairs(before: Sequence[ParameterDeclaration], after: Sequence[ParameterDeclaration]) -> list[Pair]:
    """Pair the parameters by position and type.

    A typed parameter matches one of the same type, at the same position if possible. An untyped parameter matches that
    of the same name or, if there is none, the next unmatched one.
    """
    aligned: dict[int, ParameterDeclaration] = {}
    unmatched = dict(enumerate(after))
    for index, old in enumerate(before):
        if old.type is not None and index in unmatched and unmatched[index].type == old.type:
            aligned[index] = unmatched.pop(index)
    rules: tuple[PairRule, ...] = (
        lambda old, new: (old.type is None or new.type is None) and old.name == new.name,
        lambda old, new: old.type is None or new.type is None or old.type == new.type,
    )
    for matches in rules:
        for index, old in enumerate(before):
            position = next((position for position, new in unmatched.items() if matches(old, new)), None)
            if index not in aligned and position is not None:
                aligned[index] = unmatched.pop(position)
    new_names = {index: old.name for index, old in aligned.items()}
    return [
        (old.name, {name} if (name := new_names.get(index)) not in {None, "_"} and name else set())
        for index, old in enumerate(before)
        if old.name
    ]


def _local_pairs(before: dict[int, set[str]], after: dict[int, set[str]], entry: Declaration) -> Iterator[Pair]:
    """Pair locals that give the value of the same result.

    A local that keeps its name, and whose value another local then returns, matches itself.
    """
    done: set[str] = set()
    for position, names in sorted(before.items()):
        new_names = after.get(position, set())
        for name in sorted(names - done):
            done.add(name)
            is_kept = name in _value_sources(new_names, entry) if new_names else name in entry.locals
            yield name, {name} if is_kept else new_names


def _value_sources(names: set[str], function: Declaration) -> set[str]:
    """Return these locals, and all whose value is assigned to them without calculation, directly or indirectly."""
    values: dict[str, set[str]] = defaultdict(set)
    possible = function.locals
    for node in function.assignments:
        left = node.child_by_field_name("left") or node.child_by_field_name("name")
        right = node.child_by_field_name("right") or node.child_by_field_name("value")
        if left is not None and right is not None:
            targets, sources = function.used_in(left), function.used_in(right) & possible
            for name in targets - sources:
                values[name] |= sources
    reached = set(names)
    pending = list(names)
    while pending:
        new = values[pending.pop()] - reached
        reached |= new
        pending.extend(new)
    return reached


def _result_locals(entry: Declaration, source: ParsedSource, language: Language) -> dict[int, set[str]]:
    """Return the locals that give each result, by the result's position.

    If a function returns the result of another function, the locals of that function are returned.
    """
    functions = {function.name: function for function in source.functions}
    types = source.type_names
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
                    and callee not in {visited for visited, _ in seen}
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
        part = pending.pop()
        if part.type in language.composite_kinds:
            body = part.child_by_field_name("value") or part.child_by_field_name("body")
            pending += [body] if body else [child for child in reversed(part.named_children) if not child.is_extra]
        elif _callee(part) in types and (arguments := part.child_by_field_name("arguments")) is not None:
            pending.append(arguments)
        else:
            parts.append(part)
    return parts


def _callee(node: Node) -> str | None:
    """Return the name that a call calls; None if the node is not a call."""
    callee = node.child_by_field_name("function")
    return None if callee is None else node_text(callee)
