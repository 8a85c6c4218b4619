"""Parse source text into declarations. The result depends on the tokens and their order, not on layout."""

import re
from bisect import bisect_right
from collections.abc import Iterator

from tree_sitter import Node, Parser, QueryCursor

from instruments.probes.refactor.language import Language, grammar_of, query_of
from instruments.probes.refactor.parsed_source import (
    Declaration,
    ParameterDeclaration,
    ParsedSource,
    node_text,
)

OUTPUT_BYTES_MAX = 65_536
"""The longest text that is parsed, in bytes of UTF-8."""
LINES_MAX = 2_000
"""The most lines that are not blank: a hundred times those of a normal answer. The parser needs at most a second for
them, in any order."""

Captures = dict[str, list[Node]]


def parse_source(text: str, language: Language) -> ParsedSource | None:
    """Parse a text as code, without a byte order mark; None if too long, not code, or without a function."""
    encoded = text.removeprefix("\ufeff").encode("utf-8", "replace")
    if len(encoded) > OUTPUT_BYTES_MAX or sum(bool(line.strip()) for line in encoded.split(b"\n")) > LINES_MAX:
        return None
    root = Parser(grammar_of(language)).parse(encoded + b"\n").root_node
    if root.has_error:
        return None
    captures = QueryCursor(query_of(language, language.query)).captures(root)
    misplaced = language.top_level_kinds and any(
        node.type not in language.top_level_kinds for node in root.named_children
    )
    has_empty_block = any(all(child.is_extra for child in node.named_children) for node in captures.get("filled", ()))
    if misplaced or has_empty_block or "refused" in captures or "function" not in captures:
        return None
    declarations, closures = _declarations(captures)
    source = ParsedSource(
        encoded=encoded,
        declarations=declarations,
        starts=[declaration.start for declaration in declarations],
        comments=_ordered(captures, "comment", "docstring"),
    )
    _fill_names(source, captures)
    _fill_statements(source, captures, _ordered({"": closures, **captures}, "", "closure"))
    _fill_structure(source, captures, language)
    types = source.type_names
    for function in source.functions:
        _fill_signature(function, types, language)
    return source


def _declarations(captures: Captures) -> tuple[list[Declaration], list[Node]]:
    """Return the declarations outside functions, in order, and the functions declared inside others."""
    errors = {node.text for node in captures.get("error", ())}
    decorated_nodes = {node.start_byte: node.parent for node in captures.get("decorated", ())}
    functions = _ordered(captures, "function")
    outermost = _outermost(functions)
    nodes = [(node, "function") for node in functions if _enclosing_start(node, outermost) == node.start_byte]
    closures = [node for node in functions if _enclosing_start(node, outermost) != node.start_byte]
    for kind in ("type", "constant", "variable"):
        nodes += [(node, kind) for node in _ordered(captures, kind) if _enclosing_start(node, outermost) is None]
    declarations: list[Declaration] = []
    for node, kind in sorted(nodes, key=lambda pair: (pair[0].start_byte, -pair[0].end_byte)):
        within = declarations[-1] if declarations else None
        while within is not None and within.end <= node.start_byte:
            within = within.within
        names = _names(node)
        outer_node = decorated_nodes.get(node.start_byte) or node
        is_error = kind in {"type", "variable"} and any(name.text in errors for name in names)
        declarations.append(
            Declaration(
                node=node,
                kind="error" if is_error else kind,
                names=tuple(node_text(name) for name in names),
                start=outer_node.start_byte,
                end=node.end_byte,
                within=within,
            )
        )
    return declarations, closures


def _fill_names(source: ParsedSource, captures: Captures) -> None:
    """Add to each declaration its identifiers, by role."""
    excluded = {node.start_byte for kind in ("label", "member") for node in captures.get(kind, ())}
    for owner, node in _with_owner(source, _ordered(captures, "name")):
        if node.start_byte not in excluded:
            owner.used.append((node.start_byte, node_text(node)))
    for owner, node in _with_owner(source, captures.get("member", [])):
        owner.members.add(node_text(node))
    for owner, node in _with_owner(source, captures.get("called", [])):
        owner.called.add(node_text(node))
    for owner, node in _with_owner(source, captures.get("local", [])):
        owner.variables.add(node_text(node))
    for owner, node in _with_owner(source, captures.get("loop", [])):
        owner.variables.add(node_text(node))
        owner.loops.add(node_text(node))


def _fill_statements(source: ParsedSource, captures: Captures, closures: list[Node]) -> None:
    """Add to each declaration its closures, assignments and returns."""
    for owner, _ in _with_owner(source, closures):
        owner.closures += 1
    for owner, node in _with_owner(source, _ordered(captures, "assignment")):
        owner.assignments.append(node)
    inner = _outermost(closures)
    for owner, node in _with_owner(source, _ordered(captures, "return")):
        if _enclosing_start(node, inner) is None:
            owner.returns.append(node)


def _fill_structure(source: ParsedSource, captures: Captures, language: Language) -> None:
    """Add to each declaration its structural kinds."""
    for owner, node in _with_owner(source, _ordered(captures, "type", "constant")):
        if owner.kind == "function":
            owner.features.add("constant")
            owner.variables.update(node_text(name) for name in _names(node))
    for owner, node in _with_owner(source, captures.get("guard", [])):
        if _is_guard(node, language):
            owner.features.add("guard")
    for kind in [kind for kind in captures if kind.startswith("is.")]:
        for owner, _ in _with_owner(source, captures[kind]):
            owner.features.add(kind.removeprefix("is."))


def _with_owner(source: ParsedSource, nodes: list[Node]) -> Iterator[tuple[Declaration, Node]]:
    """Yield the nodes inside declarations, each with its declaration."""
    for node in nodes:
        if owner := source.owner(node.start_byte):
            yield owner, node


def _fill_signature(function: Declaration, types: set[str], language: Language) -> None:
    """Set a function's parameters, results and, for a method, its type.

    A type that depends on a type parameter may be any type, and is treated as undeclared.
    """
    node = function.node
    generic = node.child_by_field_name("type_parameters")
    type_parameters = set() if generic is None else function.used_in(generic)
    parameters = tuple(
        ParameterDeclaration(parameter.name, None)
        if type_parameters & set(re.findall(r"\w+", parameter.type or ""))
        else parameter
        for parameter in _parameters(node.child_by_field_name("parameters"), language)
    )
    if function.within is not None:
        function.owner_type = function.within.name
        parameters = parameters[1:] if parameters and parameters[0].name in language.receivers else parameters
    receiver = node.child_by_field_name(language.receiver) if language.receiver else None
    if receiver is not None:
        function.owner_type = next(iter(sorted(function.used_in(receiver) & types)), "")
        function.variables.update(parameter.name for parameter in _parameters(receiver, language) if parameter.name)
    function.parameters = parameters
    results = node.child_by_field_name(language.results)
    if results is not None:
        is_list = results.type == language.result_list
        single_result = ParameterDeclaration(None, _text_without_spaces(results))
        function.results = tuple(_parameters(results, language)) if is_list else (single_result,)
    function.variables.update(declared.name for declared in (*parameters, *function.results) if declared.name)


def _parameters(node: Node | None, language: Language) -> Iterator[ParameterDeclaration]:
    """Yield each parameter of a parameter list."""
    for child in () if node is None else node.named_children:
        kind = child.child_by_field_name("type")
        type_text = None if kind is None else language.prefixes.get(child.type, "") + _text_without_spaces(kind)
        names = _names(child) or _first_identifier(child)
        yield from (ParameterDeclaration(node_text(name), type_text) for name in names)
        if not names and type_text is not None:
            yield ParameterDeclaration(None, type_text)


def _is_guard(node: Node, language: Language) -> bool:
    """Whether an `if` without `else` ends in a jump and code follows it."""
    last = node.child_by_field_name("consequence")
    while last is not None and last.type in language.statement_lists:
        last = next((child for child in reversed(last.named_children) if not child.is_extra), None)
    if last is None or last.type not in language.jump_kinds:
        return False
    following = node.next_named_sibling
    while following is not None and following.is_extra:
        following = following.next_named_sibling
    return following is not None


def _ordered(captures: Captures, *kinds: str) -> list[Node]:
    """Return the captured nodes of some kinds, each once, in order of their start."""
    nodes_by_id = {node.id: node for kind in kinds for node in captures.get(kind, ())}
    return sorted(nodes_by_id.values(), key=lambda node: node.start_byte)


def _outermost(nodes: list[Node]) -> list[tuple[int, int]]:
    """Return start and end of the ordered nodes that are not inside others."""
    spans: list[tuple[int, int]] = []
    for node in nodes:
        if not spans or node.start_byte >= spans[-1][1]:
            spans.append((node.start_byte, node.end_byte))
    return spans


def _enclosing_start(node: Node, spans: list[tuple[int, int]]) -> int | None:
    """Return the start of the span that contains a node; None if none does."""
    index = bisect_right(spans, node.start_byte, key=lambda span: span[0]) - 1
    return spans[index][0] if index >= 0 and node.start_byte < spans[index][1] else None


def _names(node: Node) -> list[Node]:
    """Return the names that a node declares."""
    names = node.children_by_field_name("name") or node.children_by_field_name("left")
    return [name for name in names if name.is_named]


def _first_identifier(node: Node) -> list[Node]:
    """Return the identifier that a node begins with, apart from punctuation."""
    while node.type != "identifier":
        if not node.named_children:
            return []
        node = node.named_children[0]
    return [node]


def _text_without_spaces(node: Node) -> str:
    """Return a node's text without whitespace."""
    return "".join(node_text(node).split())
