"""Code as the scorer sees it: what a text declares, and what each declaration says of names, results and structure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from tree_sitter import Node


@dataclass(slots=True, frozen=True)
class ParameterDeclaration:
    """A parameter or a result; None where it has no name, or its type is not said."""

    name: str | None
    type: str | None


@dataclass(slots=True, eq=False)
class Declaration:
    """One thing declared, and what is written in it outside of what is declared within it."""

    node: Node
    kind: str
    """function, type, constant, variable, or error: a variable that holds one, a type whose values are some."""
    names: tuple[str, ...]
    start: int
    end: int
    """From its first byte, decorators included, to behind its last."""
    within: Declaration | None = None
    """The type it stands in."""
    home: str | None = None
    """The type that a method is of."""
    parameters: tuple[ParameterDeclaration, ...] = ()
    results: tuple[ParameterDeclaration, ...] = ()
    used: list[tuple[int, str]] = field(default_factory=list)
    """Identifiers and where they stand, without labels and members."""
    members: set[str] = field(default_factory=set)
    """Identifiers behind a dot."""
    called: set[str] = field(default_factory=set)
    """Identifiers that are called."""
    variables: set[str] = field(default_factory=set)
    """Names of parameters, results and locals."""
    loops: set[str] = field(default_factory=set)
    """Those of the locals that a loop counts or fetches with."""
    assignments: list[Node] = field(default_factory=list)
    returns: list[Node] = field(default_factory=list)
    """What gives this function's results, not a closure's."""
    closures: int = 0
    features: set[str] = field(default_factory=set)
    """The structural kinds in it."""

    @property
    def name(self) -> str:
        """Its name; the first, where it declares several."""
        return self.names[0]

    @property
    def locals(self) -> set[str]:
        """Variables that are neither parameters nor a loop's."""
        return self.variables - self.loops - {parameter.name for parameter in self.parameters if parameter.name}

    def used_in(self, node: Node) -> set[str]:
        """The identifiers in a part of it."""
        first, last = (bisect_left(self.used, (position, "")) for position in (node.start_byte, node.end_byte))
        return {name for _, name in self.used[first:last]}


@dataclass(slots=True)
class ParsedSource:
    """A text that is valid code and declares a function."""

    encoded: bytes
    declarations: list[Declaration]
    """In the order of their beginnings."""
    starts: list[int]
    """Those beginnings."""
    comments: list[Node]
    """Comments and docstrings, in order."""

    @property
    def functions(self) -> list[Declaration]:
        """The functions and methods, without closures."""
        return [declaration for declaration in self.declarations if declaration.kind == "function"]

    def owner(self, position: int) -> Declaration | None:
        """The innermost declaration that a byte stands in."""
        index = bisect_right(self.starts, position) - 1
        found = self.declarations[index] if index >= 0 else None
        while found is not None and position >= found.end:
            found = found.within
        return found
