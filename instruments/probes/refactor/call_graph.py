"""Which function of a refactored text stands for the original, and what it reaches."""

import re
from collections import defaultdict

from instruments.probes.refactor.language import Language
from instruments.probes.refactor.source import Declaration, ParsedSource

Key = tuple[str, str]
"""What a reference says: a plain name, a method's, or a type's whose implied methods are meant."""

ROOTS_MAX = 100
"""How many candidates for the entry are compared."""


class References:
    """Who refers to what: by names, so that a thousand declarations of one name cost no more than one."""

    def __init__(self, source: ParsedSource, language: Language) -> None:
        self._aims: dict[Key, list[Declaration]] = defaultdict(list)
        self._keys: dict[Declaration, set[Key]] = {}
        for found in source.declarations:
            for key in _known_by(found, language):
                self._aims[key].append(found)
        for found in source.declarations:
            self._keys[found] = {key for key in _refers_to(found) if key in self._aims}

    def reached_from(self, start: Declaration) -> set[Declaration]:
        """A declaration and everything that it refers to, directly or not."""
        reached = {start}
        seen: set[Key] = set()
        waiting = [start]
        while waiting:
            for key in self._keys[waiting.pop()] - seen:
                seen.add(key)
                new = [aim for aim in self._aims[key] if aim not in reached]
                reached.update(new)
                waiting += new
        return reached

    def referred_by(self, users: set[Declaration]) -> set[Declaration]:
        """What some declarations refer to, each by itself apart."""
        counted: dict[Key, list[Declaration]] = defaultdict(list)
        for user in users:
            for key in self._keys[user]:
                counted[key].append(user)
        return {aim for key, by in counted.items() for aim in self._aims[key] if len(by) > 1 or by[0] is not aim}


def entry_of(source: ParsedSource, references: References, original: Declaration, language: Language) -> Declaration:
    """The function with the original's name; else one with its types; else the root that reaches most.

    A root is what nothing else refers to, programs and tests apart, which call anything from outside. Of several
    functions it is the one that reaches most, and of those the first.
    """
    functions = source.functions
    if named := [function for function in functions if function.name == original.name]:
        return min(named, key=lambda function: function.home is not None)
    inside = [function for function in functions if not re.fullmatch(language.outside, function.name)] or functions
    outside = set(functions) - set(inside)
    referred = references.referred_by(set(source.declarations) - outside)
    roots = [function for function in inside if function not in referred] or inside
    alike = [function for function in roots if _alike(function, original)]
    if not alike and all(parameter.type is not None for parameter in original.parameters):
        alike = [function for function in inside if _alike(function, original)]
    return max((alike or roots)[:ROOTS_MAX], key=lambda function: len(references.reached_from(function)))


def _known_by(found: Declaration, language: Language) -> set[Key]:
    if found.home is None:
        return {("name", name) for name in found.names}
    implied: set[Key] = {("type", found.home)} if found.name in language.implied else set()
    return implied | {("method", found.name)}


def _refers_to(found: Declaration) -> set[Key]:
    """A name that a local hides is a reference only where it is called."""
    hidden = found.variables - found.called
    keys: set[Key] = {("name", name) for _, name in found.used if name not in hidden}
    keys.update(("method", name) for name in found.members)
    if found.home is not None:
        keys.add(("name", found.home))
    if found.kind in {"type", "error"}:
        keys.add(("type", found.name))
    return keys


def _alike(function: Declaration, original: Declaration) -> bool:
    """Whether the types are the same, as far as both say them."""
    ours = (*function.parameters, *(function.results if original.results else ()))
    theirs = (*original.parameters, *(original.results if function.results else ()))
    return (
        len(function.parameters) == len(original.parameters)
        and len(ours) == len(theirs)
        and all(
            one.type is None or other.type is None or one.type == other.type
            for one, other in zip(ours, theirs, strict=True)
        )
    )
