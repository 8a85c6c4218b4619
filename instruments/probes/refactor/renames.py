"""Which names of the original have become others: the function's, its parameters', its results' locals'."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from tree_sitter import Node

from instruments.probes.refactor.language import Language
from instruments.probes.refactor.source import Declaration, ParameterDeclaration, ParsedSource

Pair = tuple[str, set[str]]
"""A name of the original, and the names that may stand for it; none, where it vanished with its use."""
Fits = Callable[[ParameterDeclaration, ParameterDeclaration], bool]


def pairs_of(
    original: Declaration, originals: ParsedSource, entry: Declaration, source: ParsedSource, language: Language
) -> list[Pair]:
    """Each name of the original: the function's own, its parameters', and those of the locals it answers with."""
    return [
        (original.name, {entry.name}),
        *_parameters(original.parameters, entry.parameters),
        *_locals(_roles(original, originals, language), _roles(entry, source, language), entry),
    ]


def _parameters(before: Sequence[ParameterDeclaration], after: Sequence[ParameterDeclaration]) -> list[Pair]:
    """Parameters, aligned by place and type.

    Where types are said, those of one type belong together, at the same place if they can. A parameter whose type is
    not said belongs to the one of its name, or else to the next that is left.
    """
    aligned: dict[int, ParameterDeclaration] = {}
    left = dict(enumerate(after))
    for index, mine in enumerate(before):
        if mine.type is not None and index in left and left[index].type == mine.type:
            aligned[index] = left.pop(index)
    rules: tuple[Fits, ...] = (
        lambda mine, other: (mine.type is None or other.type is None) and mine.name == other.name,
        lambda mine, other: mine.type is None or other.type is None or mine.type == other.type,
    )
    for fits in rules:
        for index, mine in enumerate(before):
            place = next((place for place, other in left.items() if fits(mine, other)), None)
            if index not in aligned and place is not None:
                aligned[index] = left.pop(place)
    now = {index: parameter.name for index, parameter in aligned.items()}
    return [
        (mine.name, {name} if (name := now.get(index)) not in {None, "_"} and name else set())
        for index, mine in enumerate(before)
        if mine.name
    ]


def _locals(before: dict[int, set[str]], after: dict[int, set[str]], entry: Declaration) -> Iterator[Pair]:
    """Locals, aligned by role: which of the results they give.

    A local that keeps its name and only passes its value on to the one that is returned still stands for itself.
    """
    done: set[str] = set()
    for place, names in sorted(before.items()):
        now = after.get(place, set())
        for name in sorted(names - done):
            done.add(name)
            kept = name in _sources(now, entry) if now else name in entry.locals
            yield name, {name} if kept else now


def _sources(names: set[str], function: Declaration) -> set[str]:
    """Some locals, and those whose value is passed on to them whole: not what is added up in them."""
    values: dict[str, set[str]] = defaultdict(set)
    possible = function.locals
    for node in function.assignments:
        left = node.child_by_field_name("left") or node.child_by_field_name("name")
        right = node.child_by_field_name("right") or node.child_by_field_name("value")
        if left is not None and right is not None:
            into, given = function.used_in(left), function.used_in(right) & possible
            for name in into - given:
                values[name] |= given
    found = set(names)
    waiting = list(names)
    while waiting:
        new = values[waiting.pop()] - found
        found |= new
        waiting.extend(new)
    return found


def _roles(entry: Declaration, source: ParsedSource, language: Language) -> dict[int, set[str]]:
    """The locals that give each result, by its place.

    Where a function answers with what another one answers, the locals are that one's.
    """
    functions = {function.name: function for function in source.functions}
    types = {name for found in source.declarations if found.kind in {"type", "error"} for name in found.names}
    roles: dict[int, set[str]] = defaultdict(set)
    seen = {(entry, 0)}
    waiting = [(entry, 0)]
    while waiting:
        function, first = waiting.pop()
        names = function.locals if function is entry else function.variables - function.loops
        for place, result in enumerate(function.results, first):
            roles[place] |= {result.name} & names if result.name else set()
        for node in function.returns:
            parts = _parts(node, types, language)
            for place, part in enumerate(parts, first):
                callee = functions.get(_callee(part) or "")
                given = function.used_in(part) & names
                if callee is not None and (not given or len(parts) == 1) and callee not in {known for known, _ in seen}:
                    seen.add((callee, place))
                    waiting.append((callee, place))
                else:
                    roles[place] |= given
    return {place: names for place, names in roles.items() if names}


def _parts(node: Node, types: set[str], language: Language) -> list[Node]:
    """The expressions that a return gives, those within lists and literals each by itself."""
    parts: list[Node] = []
    waiting = [child for child in reversed(node.named_children) if not child.is_extra]
    while waiting:
        found = waiting.pop()
        if found.type in language.bundles:
            inner = found.child_by_field_name("value") or found.child_by_field_name("body")
            waiting += [inner] if inner else [child for child in reversed(found.named_children) if not child.is_extra]
        elif _callee(found) in types and (arguments := found.child_by_field_name("arguments")) is not None:
            waiting.append(arguments)
        else:
            parts.append(found)
    return parts


def _callee(node: Node) -> str | None:
    """What a call calls."""
    callee = node.child_by_field_name("function")
    return None if callee is None else (callee.text or b"").decode()
