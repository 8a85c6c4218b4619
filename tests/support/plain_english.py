"""Words and phrases that documents and code must not contain, and readers of both.

Each rule has a pattern and a way out: metaphors that were in the code once, and clauses in place of a noun. Ordinary
English words are free. Code in documents (blocks, `spans`, links) is not read.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Rule(NamedTuple):
    """A pattern that prose must not match, and what to write instead."""

    pattern: re.Pattern[str]
    instead: str


class Text(NamedTuple):
    """A piece of prose and the number of its first line."""

    line: int
    text: str


class Match(NamedTuple):
    """A forbidden phrase: its line, the phrase as it is written, and what to write instead."""

    line: int
    found: str
    instead: str


def _rule(pattern: str, instead: str) -> Rule:
    return Rule(re.compile(pattern, re.IGNORECASE), instead)


_SUBJECT = "name who does it, verb first"

RULES = (
    # Metaphors
    _rule(r"\bhouses?\b", "the project, the ledger service"),
    _rule(r"\b(?:in|out)?doors?\b", "interface, HTTP, route"),
    _rule(r"\b(?:clerks?|custody|sittings?|(?<!\bred )herrings?|errands?)\b", "the field's word, see the glossary"),
    _rule(r"\b(?:sinks?|pumps?)\b", "event store, pipeline"),
    _rule(r"\bmerits\b", "statistics"),
    _rule(r"\bbearings?\b", "support, evidence"),
    _rule(r"\bb(?:ears?|ore|orne) out\b", "supports, confirms"),
    _rule(r"\bbabbl\w+", "prints something that is not JSON"),
    _rule(r"\bvouch\w*", "give evidence for"),
    # Relative clauses in place of a noun
    _rule(
        r"\b(?:is|are|was|were|be|been|being) told\b|\btold (?:apart|whole|as|by)\b", f"{_SUBJECT}: X prints, X reports"
    ),
    _rule(r"\bwho(?:ever|mever)\b", "anyone who, the person who"),
    _rule(
        r"\bwhat (?:is|was|were|are) (?:asked|told|said|sought|looked for)\b",
        "the question, the parameters, the message",
    ),
    _rule(r"\bwhat (?:came|comes|becomes|became) of\b", "the result of"),
    _rule(r"\bwho (?:asks|speaks|is asked)\b", "the caller, the agent"),
    _rule(r"\b(?:by|of|to|from|with|than|that) who \w+s\b", "the caller, the reader, someone who"),
)
"""What prose must not contain. Add a rule with its exceptions in the pattern, and the word to use."""

NAMES = frozenset(
    {
        "bearing", "bearings", "clerk", "custody", "desk", "door", "doors", "errand", "house", "houses", "merits",
        "pump", "sink", "sinks", "sitting", "told", "wishes",
    }
)  # fmt: skip
"""Words that no name of a module, class, function, argument or variable contains."""

_fence = re.compile(r"^(`{3,}|~{3,})[^\n]*\n.*?^\1[ ]*$", re.DOTALL | re.MULTILINE)
_span = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_target = re.compile(r"\]\([^)\s]+\)|<[^>\s]+>|https?://\S+|<!--.*?-->", re.DOTALL)
_part = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def find(texts: Iterable[Text]) -> list[Match]:
    """Return every forbidden phrase in some prose, in order of lines."""
    found = []
    for start, text in texts:
        lines = re.sub(r"\n[ \t]*", "\n", text)
        prose = lines.replace("\n", " ")
        for rule in RULES:
            for match in rule.pattern.finditer(prose):
                line = start + lines.count("\n", 0, match.start())
                found.append(Match(line, match[0].strip(".;:| "), rule.instead))
    return sorted(found)


def of_markdown(text: str) -> Iterator[Text]:
    """Yield the prose of a Markdown document: all of it but code, addresses and comments."""

    def blank(match: re.Match[str]) -> str:
        return "\n" * match[0].count("\n") or " "

    for pattern in (_fence, _span, _target):
        text = pattern.sub(blank, text)
    for match in re.finditer(r"(?:^.*\S.*\n?)+", text, re.MULTILINE):
        yield Text(text.count("\n", 0, match.start()) + 1, match[0])


def of_comments(text: str) -> Iterator[Text]:
    """Yield the comments of Python source; comments on lines that follow one another are one text."""
    if "#" not in text:
        return
    lines: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT or re.match(r"#!|# (?:noqa|type:|fmt:)", token.string):
            continue
        if lines and token.start[0] != last + 1:
            yield Text(last - len(lines) + 1, "\n".join(lines))
            lines = []
        lines.append(re.sub(r"# (?:noqa|type:).*", "", token.string.removeprefix("#").strip()))
        last = token.start[0]
    if lines:
        yield Text(last - len(lines) + 1, "\n".join(lines))


def of_strings(nodes: Iterable[ast.AST]) -> Iterator[Text]:
    """Yield docstrings and messages: string literals with a space. `spans` in them are code."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            text = _span.sub(lambda match: "\n" * match[0].count("\n") or " ", node.value)
            yield Text(node.lineno, text)


def of_docstrings(nodes: Iterable[ast.AST]) -> Iterator[Text]:
    """Yield the docstrings of modules, classes and functions, and those below assignments."""
    for node in nodes:
        for child in getattr(node, "body", []) if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                yield from of_strings([child.value])


def of_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield each name that the source defines, with its line: classes, functions, arguments, variables, fields."""
    for node in nodes:
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr
            case ast.alias(asname=str(name)):
                yield node.lineno, name


def forbidden_in(name: str) -> list[str]:
    """Return the words of a name, in snake_case or CamelCase, that no name may contain."""
    return [part for part in (each.lower() for each in _part.findall(name)) if part in NAMES]
