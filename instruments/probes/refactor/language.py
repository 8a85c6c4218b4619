"""What the scorer must be told of a programming language: data alone, so that another language is another table."""

from collections.abc import Callable, Mapping
from functools import cache

import msgspec
from tree_sitter import Language as Grammar
from tree_sitter import Query


class Language(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A language as the kinds of its syntax nodes.

    `query` is a tree-sitter query. What its captures mean, in any language:

    |capture|node|
    |-|-|
    |function|declares a function or method that has a body; fields name, parameters, body|
    |type, constant, variable|declares one, outside functions or within; field name or left|
    |decorated|a declaration whose parent belongs to it|
    |error|the name of an error, or of a type whose values are errors|
    |closure|a function without a name|
    |name|an identifier; `label`: one that refers to nothing; `member`: one behind a dot; `called`: one that is called|
    |local, loop|an identifier where it becomes a variable; where a loop makes it one|
    |assignment|gives its field left (or name) the value of its field right (or value), whatever it held before|
    |return|gives results|
    |comment, docstring|says something to people|
    |guard|an `if` without `else`|
    |is.KIND|code of a structural kind; `is.results`: results that say what they are|
    |refused|what the grammar admits and the language does not; `filled`: what only the grammar admits empty|
    """

    grammar: Callable[[], object]
    """The grammar's own entry point."""
    query: str
    outer: frozenset[str] = frozenset()
    """The kinds that may stand outside functions; empty where any may."""
    results: str
    """The field of a function that says what it gives."""
    several: str
    """The kind of that field where it lists results as parameters are listed."""
    bundles: frozenset[str]
    """The kinds of expression that are nothing but their parts: lists, tuples, literals of a type."""
    prefixes: Mapping[str, str] = {}
    """Kinds of parameter that take any number of values, and what makes the type of one the type of all."""
    receiver: str = ""
    """The field of a method that names its type, where the method does not stand in it."""
    receivers: frozenset[str] = frozenset()
    """What the parameter that is the object itself is called, where the method stands in its type."""
    sequences: frozenset[str]
    """The kinds that hold statements."""
    leaving: frozenset[str]
    """The kinds of statement after which the next one is not reached."""
    outside: str
    """A pattern of the names of functions that are called from outside: programs and tests."""
    implied: frozenset[str]
    """Methods that are used without being named."""
    line: str
    """How a line comment begins."""
    wrapping: str
    """A pattern of the marks around and within the text of a comment."""
    directive: str
    """A pattern of comments that speak to tools."""
    said: str
    """A query over a comment's text read as code: `code` can be nothing else, `either` may as well be a phrase."""
    opened: str
    """A pattern of texts whose last block is left open."""
    closing: str
    """What closes that block."""
    dangling: str
    """A pattern of texts that go on with a statement begun before them."""
    opening: str
    """What begins that statement."""


@cache
def grammar_of(language: Language) -> Grammar:
    """The compiled grammar, made once in a process."""
    return Grammar(language.grammar())


@cache
def query_of(language: Language, source: str) -> Query:
    """A compiled query of that language, made once in a process: that takes milliseconds."""
    return Query(grammar_of(language), source)
