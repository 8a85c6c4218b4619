"""Parsed source code: its declarations, with their names, parameters, results and structure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from tree_sitter import Node


def node_text(node: Node) -> str:
    """Return the source text of a syntax node."""
    return (node.text or b"").decode()


@dataclass(slots=True, frozen=True)
class ParameterDeclaration:
    """A parameter or a result; name or type are None if not declared."""

    name: str | None
    type: str | None


@dataclass(slots=True, eq=False)
class Declaration:
    """A declaration, and its content outside of inner declarations."""

    node: Node
    kind: str
    """function, type, constant, variable, or error (an error variable, or a type of errors)."""
    names: tuple[str, ...]
    start: int
    end: int
    """Byte offsets, `end` exclusive; decorators are included."""
    within: Declaration | None = None
    """The type that contains it."""
    owner_type: str | None = None
    """The type of a method."""
    parameters: tuple[ParameterDeclaration, ...] = ()
    results: tuple[ParameterDeclaration, ...] = ()
    used: list[tuple[int, str]] = field(default_factory=list)
    """Offsets and names of identifiers, without labels and members."""
    members: set[str] = field(default_factory=set)
    """Identifiers after a dot."""
    called: set[str] = field(default_factory=set)
    """Identifiers that are called."""
    variables: set[str] = field(default_factory=set)
    """Names of parameters, results and locals."""
    loops: set[str] = field(default_factory=set)
    """Loop variables."""
    assignments: list[Node] = field(default_factory=list)
    returns: list[Node] = field(default_factory=list)
    """The return statements of this function, without those of closures."""
    closures: int = 0
    features: set[str] = field(default_factory=set)
    """The structural kinds that it contains."""

    @property
    def name(self) -> str:
        """The name; the first if it declares several."""
        return self.names[0]

    @property
    def locals(self) -> set[str]:
        """Variables that are neither parameters nor loop variables."""
        return self.variables - self.loops - {parameter.name for parameter in self.parameters if parameter.name}

    def used_in(self, node: Node) -> set[str]:
        """Return the identifiers inside a node of this declaration."""
        first, last = (bisect_left(self.used, (position, "")) for position in (node.start_byte, node.end_byte))
        return {name for _, name in self.used[first:last]}


@dataclass(slots=True)
class ParsedSource:
    """A text that is valid code and declares at least one function."""

    encoded: bytes
    declarations: list[Declaration]
    """In order of their start."""
    starts: list[int]
    """The start offsets of the declarations."""
    comments: list[Node]
    """Comments and docstrings, in order."""

    @property
    def functions(self) -> list[Declaration]:
        """Functions and methods, without closures."""
        return [declaration for declaration in self.declarations if declaration.kind == "function"]

    @property
    def type_names(self) -> set[str]:
        """Names of all types, including types of errors."""
        return {name for declared in self.declarations if declared.kind in {"type", "error"} for name in declared.names}

    def owner(self, position: int) -> Declaration | None:
        """Return the innermost declaration that contains a byte offset; None if none does."""
        index = bisect_right(self.starts, position) - 1
        declaration = self.declarations[index] if index >= 0 else None
        while declaration is not None and position >= declaration.end:
            declaration = declaration.within
        return declaration
