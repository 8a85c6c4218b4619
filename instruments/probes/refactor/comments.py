"""Count the comments of a text that address people."""

import re
import textwrap
from dataclasses import dataclass
from functools import cache

from tree_sitter import Node, Parser, QueryCursor

from instruments.probes.refactor.language import Language, grammar_of, query_of
from instruments.probes.refactor.source import Declaration, ParsedSource

STRING = r""" "[^"]*" | '[^']*' | `[^`]*` """.replace(" ", "")
"""A string literal within a line, in any language with quotes."""


@dataclass(slots=True)
class CommentBlock:
    """Consecutive comments of one kind, without code between them."""

    kind: str
    """line, block (including docstrings), or trailing (after code on its line)."""
    nodes: list[Node]
    near: set[int]
    """Offsets that decide where it belongs: its own and the next code's, or for a trailing one the code before it."""


def count_comments(source: ParsedSource, unreached: set[Declaration], language: Language) -> int:
    """Count the comment blocks, without directives, commented-out code, and comments of unreached declarations."""
    return sum(
        all(source.owner(position) not in unreached for position in group.near)
        and _is_prose("\n".join(_text(node) for node in group.nodes), language)
        for group in _comment_blocks(source, language)
    )


def _comment_blocks(source: ParsedSource, language: Language) -> list[CommentBlock]:
    groups: list[CommentBlock] = []
    pending: list[CommentBlock] = []  # blocks whose following code is not known yet
    end_of_last = code = 0
    fresh, apart = True, True
    for node in source.comments:
        gap = source.encoded[end_of_last : node.start_byte]
        if content := gap.strip():
            first = end_of_last + gap.index(content)
            code = first + len(content) - 1
            for group in pending:
                group.near.add(first)
            pending, apart = [], True
        fresh = not gap.rpartition(b"\n")[2].strip() if b"\n" in gap else fresh and not content
        end_of_last = node.end_byte
        text = _text(node)
        if re.match(language.directive, text):
            continue
        comment = node.is_extra
        kind = "trailing" if comment and not fresh else "line" if text.startswith(language.line_comment) else "block"
        if groups and groups[-1].kind == kind and not apart:
            groups[-1].nodes.append(node)
        else:
            groups.append(CommentBlock(kind, [node], {code if kind == "trailing" else node.start_byte}))
            pending += [] if kind == "trailing" else groups[-1:]
        apart = False
    rest = source.encoded[end_of_last:]
    for group in pending:
        group.near.add(end_of_last + len(rest) - len(rest.lstrip()))
    return groups


def _is_prose(text: str, language: Language) -> bool:
    """Whether a comment contains words and is not code."""
    content = textwrap.dedent("\n".join(re.sub(language.comment_marks, "", line) for line in text.splitlines())).strip()
    return bool(re.search(r"\w", content)) and not _is_code(content, language)


def _is_code(text: str, language: Language) -> bool:
    """Whether a text consists of statements, at least one of which cannot be read as a phrase.

    Three words in a row that are not keywords are never code: this settles most comments in a tenth of the time
    that the parser needs to reject prose.
    """
    bare = (re.sub(STRING, "0", line).partition(language.line_comment)[0] for line in text.splitlines())
    if any(_prose_pattern(language).search(line) for line in bare):
        return False
    prefix = language.clause_start if re.match(language.dangling_clause, text) else ""
    suffix = language.block_end if re.search(language.open_block, text) else ""
    root = Parser(grammar_of(language)).parse(f"{prefix}{text}{suffix}\n".encode()).root_node
    if root.has_error:
        return False
    captures = QueryCursor(query_of(language, language.comment_query)).captures(root)
    code = {node.id for node in captures.get("code", ()) if node.end_byte > len(prefix)}
    either = {node.id for node in captures.get("either", ())}
    return bool(code) and all(node.is_extra or node.id in code | either for node in root.named_children)


@cache
def _prose_pattern(language: Language) -> re.Pattern[str]:
    """Return a pattern of three words in a row that are not keywords."""
    grammar = grammar_of(language)
    kinds = [kind for kind in range(grammar.node_kind_count) if not grammar.node_kind_is_named(kind)]
    tokens = {grammar.node_kind_for_id(kind) or "" for kind in kinds if grammar.node_kind_is_visible(kind)}
    keywords = "|".join(sorted(token for token in tokens if token.isalpha()))
    word = rf"\b(?!(?:{keywords})\b)[^\W\d]\w*"
    return re.compile(rf"{word}[ \t]+{word}[ \t]+{word}")


def _text(node: Node) -> str:
    return (node.text or b"").decode()
