"""How many comments a text has that say something to people."""

import re
import textwrap
from dataclasses import dataclass
from functools import cache

from tree_sitter import Node, Parser, QueryCursor

from instruments.probes.refactor.language import Language, grammar_of, query_of
from instruments.probes.refactor.source import Declaration, ParsedSource

STRING = r""" "[^"]*" | '[^']*' | `[^`]*` """.replace(" ", "")
"""A string within a line, in any language that quotes."""


@dataclass(slots=True)
class CommentBlock:
    """Comments of one kind with no code between them."""

    kind: str
    """line, block (docstrings are such), or trailing: behind code on its line."""
    nodes: list[Node]
    near: set[int]
    """Where something stands that it may belong to: itself and what follows, or the code that it trails."""


def comments_in(source: ParsedSource, unreached: set[Declaration], language: Language) -> int:
    """The groups, without directives, commented-out code and what belongs to an unreached declaration."""
    return sum(
        all(source.owner(position) not in unreached for position in group.near)
        and _speaks("\n".join(_text(node) for node in group.nodes), language)
        for group in _groups(source, language)
    )


def _groups(source: ParsedSource, language: Language) -> list[CommentBlock]:
    groups: list[CommentBlock] = []
    waiting: list[CommentBlock] = []  # for the code that follows them
    behind = code = 0
    fresh, apart = True, True
    for node in source.comments:
        gap = source.encoded[behind : node.start_byte]
        if said := gap.strip():
            first = behind + gap.index(said)
            code = first + len(said) - 1
            for group in waiting:
                group.near.add(first)
            waiting, apart = [], True
        fresh = not gap.rpartition(b"\n")[2].strip() if b"\n" in gap else fresh and not said
        behind = node.end_byte
        text = _text(node)
        if re.match(language.directive, text):
            continue
        comment = node.is_extra
        kind = "trailing" if comment and not fresh else "line" if text.startswith(language.line) else "block"
        if groups and groups[-1].kind == kind and not apart:
            groups[-1].nodes.append(node)
        else:
            groups.append(CommentBlock(kind, [node], {code if kind == "trailing" else node.start_byte}))
            waiting += [] if kind == "trailing" else groups[-1:]
        apart = False
    rest = source.encoded[behind:]
    for group in waiting:
        group.near.add(behind + len(rest) - len(rest.lstrip()))
    return groups


def _speaks(text: str, language: Language) -> bool:
    """Whether a comment has words, and they are no code."""
    said = textwrap.dedent("\n".join(re.sub(language.wrapping, "", line) for line in text.splitlines())).strip()
    return bool(re.search(r"\w", said)) and not _is_code(said, language)


def _is_code(text: str, language: Language) -> bool:
    """Whether a text is statements all through, at least one of which nobody would take for a phrase.

    Three words in a row, none of them a keyword, are never code: most comments are known by that, at a tenth of the
    time that a parser takes to find no way through prose.
    """
    bare = (re.sub(STRING, "0", line).partition(language.line)[0] for line in text.splitlines())
    if any(_phrase(language).search(line) for line in bare):
        return False
    opening = language.opening if re.match(language.dangling, text) else ""
    closing = language.closing if re.search(language.opened, text) else ""
    root = Parser(grammar_of(language)).parse(f"{opening}{text}{closing}\n".encode()).root_node
    if root.has_error:
        return False
    captures = QueryCursor(query_of(language, language.said)).captures(root)
    code = {node.id for node in captures.get("code", ()) if node.end_byte > len(opening)}
    either = {node.id for node in captures.get("either", ())}
    return bool(code) and all(node.is_extra or node.id in code | either for node in root.named_children)


@cache
def _phrase(language: Language) -> re.Pattern[str]:
    """Three words in a row, none of them a keyword."""
    grammar = grammar_of(language)
    kinds = [kind for kind in range(grammar.node_kind_count) if not grammar.node_kind_is_named(kind)]
    tokens = {grammar.node_kind_for_id(kind) or "" for kind in kinds if grammar.node_kind_is_visible(kind)}
    keywords = "|".join(sorted(token for token in tokens if token.isalpha()))
    word = rf"\b(?!(?:{keywords})\b)[^\W\d]\w*"
    return re.compile(rf"{word}[ \t]+{word}[ \t]+{word}")


def _text(node: Node) -> str:
    return (node.text or b"").decode()
