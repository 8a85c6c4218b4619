"""Find the function that replaces the original in refactored code, and the declarations that it uses."""

import re
from collections import defaultdict

from instruments.probes.refactor.language import Language
from instruments.probes.refactor.parsed_source import Declaration, ParsedSource

Key = tuple[str, str]
"""A reference by kind and name: a plain name, a method's name, or a type for its implicit methods."""

ROOTS_MAX = 100
"""The most candidates for the entry that are compared."""


class References:
    """References between declarations, indexed by name: many declarations of one name cost no more than one."""

    def __init__(self, source: ParsedSource, language: Language) -> None:
        self._targets: dict[Key, list[Declaration]] = defaultdict(list)
        self._keys: dict[Declaration, set[Key]] = {}
        for declaration in source.declarations:
            for key in _keys_of(declaration, language):
                self._targets[key].append(declaration)
        for declaration in source.declarations:
            self._keys[declaration] = {key for key in _referenced_keys(declaration) if key in self._targets}

    def reachable_from(self, start: Declaration) -> set[Declaration]:
        """Return a declaration, and the declarations to which it refers directly or indirectly."""
        reached = {start}
        seen: set[Key] = set()
        pending = [start]
        while pending:
            for key in self._keys[pending.pop()] - seen:
                seen.add(key)
                unreached = [target for target in self._targets[key] if target not in reached]
                reached.update(unreached)
                pending += unreached
        return reached

    def referenced_by(self, users: set[Declaration]) -> set[Declaration]:
        """Return the declarations to which `users` refer; references of a declaration to itself are ignored."""
        users_of: dict[Key, list[Declaration]] = defaultdict(list)
        for user in users:
            for key in self._keys[user]:
                users_of[key].append(user)
        return {
            target
            for key, referring in users_of.items()
            for target in self._targets[key]
            if len(referring) > 1 or referring[0] is not target
        }


def find_entry(source: ParsedSource, references: References, original: Declaration, language: Language) -> Declaration:
    """Return the function that replaces the original: that of the same name, or one of the same types, or a root.

    A root is a function to which only main functions and tests refer. Of several candidates, the one that reaches the
    most declarations is returned; of equal ones, the first.
    """
    functions = source.functions
    if same_name := [function for function in functions if function.name == original.name]:
        return min(same_name, key=lambda function: function.owner_type is not None)
    internal = [
        function for function in functions if not re.fullmatch(language.external_entry, function.name)
    ] or functions
    external = set(functions) - set(internal)
    referred = references.referenced_by(set(source.declarations) - external)
    roots = [function for function in internal if function not in referred] or internal
    same_types = [function for function in roots if _same_types(function, original)]
    if not same_types and all(parameter.type is not None for parameter in original.parameters):
        same_types = [function for function in internal if _same_types(function, original)]
    return max((same_types or roots)[:ROOTS_MAX], key=lambda function: len(references.reachable_from(function)))


def _keys_of(declaration: Declaration, language: Language) -> set[Key]:
    if declaration.owner_type is None:
        return {("name", name) for name in declaration.names}
    implicit: set[Key] = {("type", declaration.owner_type)} if declaration.name in language.implicit_methods else set()
    return implicit | {("method", declaration.name)}


def _referenced_keys(declaration: Declaration) -> set[Key]:
    """Return the references of a declaration; a name that a local variable hides is one only if it is called."""
    hidden = declaration.variables - declaration.called
    keys: set[Key] = {("name", name) for _, name in declaration.used if name not in hidden}
    keys.update(("method", name) for name in declaration.members)
    if declaration.owner_type is not None:
        keys.add(("name", declaration.owner_type))
    if declaration.kind in {"type", "error"}:
        keys.add(("type", declaration.name))
    return keys


def _same_types(function: Declaration, original: Declaration) -> bool:
    """Whether the types are equal where both functions declare them."""
    new = (*function.parameters, *(function.results if original.results else ()))
    old = (*original.parameters, *(original.results if function.results else ()))
    return (
        len(function.parameters) == len(original.parameters)
        and len(new) == len(old)
        and all(
            new_item.type is None or old_item.type is None or new_item.type == old_item.type
            for new_item, old_item in zip(new, old, strict=True)
        )
    )
