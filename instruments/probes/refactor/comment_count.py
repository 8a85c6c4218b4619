"""Find the comments of a text that address people."""

import re
import textwrap
from dataclasses import dataclass
from functools import cache

from tree_sitter import Node, Parser, QueryCursor

from instruments.probes.refactor.language import Language, grammar_of, query_of
from instruments.probes.refactor.parsed_source import Declaration, ParsedSource, node_text

STRING = r""" "[^"]*" | '[^']*' | `[^`]*` """.replace(" ", "")
"""A string literal within a line, in any language with quotes."""


@dataclass(slots=True)
class CommentBlock:
    """Consecutive comments of one kind, without code between them."""

    kind: str
    """line, block (including docstrings), or trailing (after code on its line)."""
    nodes: list[Node]
    owner_offsets: set[int]
    """Byte offsets in the declarations that it describes: its own and that of the next code, or for a trailing one that
    of the code before it."""


def find_comments(source: ParsedSource, unreached: set[Declaration], language: Language) -> list[CommentBlock]:
    """Return the comment blocks, without directives, commented-out code, and comments of unreached declarations."""
    return [
        block
        for block in _comment_blocks(source, language)
        if all(source.owner(position) not in unreached for position in block.owner_offsets)
        and _is_prose("\n".join(node_text(node) for node in block.nodes), language)
    ]


def _comment_blocks(source: ParsedSource, language: Language) -> list[CommentBlock]:
    blocks: list[CommentBlock] = []
    pending: list[CommentBlock] = []  # blocks after which no code has been found yet
    end_of_last = last_code = 0
    begins_line, is_separated = True, True
    for node in source.comments:
        gap = source.encoded[end_of_last : node.start_byte]
        if gap_code := gap.strip():
            first_code = end_of_last + gap.index(gap_code)
            last_code = first_code + len(gap_code) - 1
            for block in pending:
                block.owner_offsets.add(first_code)
            pending, is_separated = [], True
        begins_line = not gap.rpartition(b"\n")[2].strip() if b"\n" in gap else begins_line and not gap_code
        end_of_last = node.end_byte
        text = node_text(node)
        if re.match(language.directive, text):
            continue
        if node.is_extra and not begins_line:
            kind = "trailing"
        else:
            kind = "line" if text.startswith(language.line_comment) else "block"
        if blocks and blocks[-1].kind == kind and not is_separated:
            blocks[-1].nodes.append(node)
        else:
            blocks.append(CommentBlock(kind, [node], {last_code if kind == "trailing" else node.start_byte}))
            pending += [] if kind == "trailing" else blocks[-1:]
        is_separated = False
    remaining = source.encoded[end_of_last:]
    for block in pending:
        block.owner_offsets.add(end_of_last + len(remaining) - len(remaining.lstrip()))
    return blocks


def content_of(text: str, language: Language) -> str:
    """Return a comment's text without the marks around and inside it."""
    return textwrap.dedent("\n".join(re.sub(language.comment_marks, "", line) for line in text.splitlines())).strip()


def _is_prose(text: str, language: Language) -> bool:
    """Whether a comment contains words and is not code."""
    content = content_of(text, language)
    return bool(re.search(r"\w", content)) and not _is_code(content, language)


def _is_code(text: str, language: Language) -> bool:
    """Whether a text consists of statements, and at least one of them cannot be a phrase in words.

    Three words in a row that are not keywords are never code. This check decides most comments, and needs a tenth of
    the time of the parser.
    """
    bare_lines = (re.sub(STRING, "0", line).partition(language.line_comment)[0] for line in text.splitlines())
    if any(_prose_pattern(language).search(line) for line in bare_lines):
        return False
    prefix = language.clause_start if re.match(language.dangling_clause, text) else ""
    suffix = language.block_end if re.search(language.open_block, text) else ""
    root = Parser(grammar_of(language)).parse(f"{prefix}{text}{suffix}\n".encode()).root_node
    if root.has_error:
        return False
    captures = QueryCursor(query_of(language, language.comment_query)).captures(root)
    code = {node.id for node in captures.get("code", ()) if node.end_byte > len(prefix)}
    ambiguous = {node.id for node in captures.get("either", ())}
    return bool(code) and all(node.is_extra or node.id in code | ambiguous for node in root.named_children)


@cache
def _prose_pattern(language: Language) -> re.Pattern[str]:
    """Return a pattern of three words in a row that are not keywords."""
    grammar = grammar_of(language)
    kinds = [kind for kind in range(grammar.node_kind_count) if not grammar.node_kind_is_named(kind)]
    tokens = {grammar.node_kind_for_id(kind) or "" for kind in kinds if grammar.node_kind_is_visible(kind)}
    keywords = "|".join(sorted(token for token in tokens if token.isalpha()))
    word = rf"\b(?!(?:{keywords})\b)[^\W\d]\w*"
    return re.compile(rf"{word}[ \t]+{word}[ \t]+{word}")
