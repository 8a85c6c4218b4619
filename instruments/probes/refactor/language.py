"""The description of a programming language for the refactor scorer: data only, no code."""

from collections.abc import Callable, Mapping
from functools import cache

import msgspec
from tree_sitter import Language as Grammar
from tree_sitter import Query


class Language(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A language, described by the kinds of its syntax nodes.

    `query` is a tree-sitter query. Its captures mean, in any language:

    |capture|node|
    |-|-|
    |function|declares a function or method with a body; fields name, parameters, body|
    |type, constant, variable|declares a type, constant or variable, in a function or not; field name or left|
    |decorated|a declaration inside a decorating node|
    |error|the name of an error, or of a type whose values are errors|
    |closure|a function without a name|
    |name|an identifier; `label`: one that is not a reference; `member`: one after a dot; `called`: one that is called|
    |local, loop|an identifier that becomes a variable; one that becomes a loop's variable|
    |assignment|assigns the value of its field right (or value) to its field left (or name)|
    |return|returns results|
    |comment, docstring|a comment for people|
    |guard|an `if` without `else`|
    |is.KIND|code of a structural kind; `is.results`: named or typed results|
    |refused|valid in the grammar, but not in the language; `filled`: must not be empty, but may be in the grammar|
    """

    grammar: Callable[[], object]
    """The grammar's entry point."""
    query: str
    top_level_kinds: frozenset[str] = frozenset()
    """The kinds allowed at the top level; empty if all are."""
    results: str
    """The field of a function that declares its results."""
    result_list: str
    """The kind of that field if it lists several results, as parameters are listed."""
    literal_kinds: frozenset[str]
    """The kinds of nodes inside literals."""
    passing_kinds: frozenset[str]
    """The kinds that hand values on: returns, assignments of variables, lists, tuples and other containers."""
    element_kinds: frozenset[str]
    """The kinds that take an element out of a container."""
    composite_kinds: frozenset[str]
    """The kinds of expression that only combine their parts: lists, tuples, literals of a type."""
    prefixes: Mapping[str, str] = {}
    """Kinds of variadic parameters, and the prefix that turns an element's type into the parameter's type."""
    receiver: str = ""
    """The field of a method that names its type, if methods are declared outside of types."""
    receivers: frozenset[str] = frozenset()
    """Names of the parameter for the object itself, if methods are declared inside types."""
    statement_lists: frozenset[str]
    """The kinds that contain statements."""
    jump_kinds: frozenset[str]
    """The kinds of statement after which the next statement is not reached."""
    external_entry: str
    """A pattern for names of functions that other programs call: main functions and tests."""
    implicit_methods: frozenset[str]
    """Methods that the language calls, without their name in the code."""
    line_comment: str
    """The beginning of a line comment."""
    comment_marks: str
    """A pattern for the marks around and inside a comment's text."""
    directive: str
    """A pattern for comments that address tools."""
    comment_query: str
    """A query over a comment's text parsed as code: `code` can only be code, `either` may also be a phrase."""
    open_block: str
    """A pattern for texts whose last block is not closed."""
    block_end: str
    """The text that closes such a block."""
    dangling_clause: str
    """A pattern for texts that continue a statement from before, such as `else`."""
    clause_start: str
    """The text that begins such a statement."""


def kinds(text: str) -> frozenset[str]:
    """Split a text into kinds of nodes at spaces."""
    return frozenset(text.split())


@cache
def grammar_of(language: Language) -> Grammar:
    """Return the compiled grammar, cached."""
    return Grammar(language.grammar())


@cache
def query_of(language: Language, source: str) -> Query:
    """Return a compiled query, cached: compiling takes milliseconds."""
    return Query(grammar_of(language), source)
