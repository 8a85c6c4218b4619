"""Select scenarios of a suite by an expression like that of pytest's `-k`.

    expression = conjunction { "or" conjunction }
    conjunction = term { "and" term }
    term = "not" term | "(" expression ")" | word | "quoted words"

A word matches a scenario if its title, name, family, cluster or failure type contains it, ignoring case.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from instruments.errors import BadExpression
from instruments.evals.scenario import Scenario

DEPTH_MAX = 50
"""The deepest nesting of brackets and `not`."""

_OPERATORS = frozenset({"and", "or", "not"})
_token = re.compile(r"""\s*(?:([()])|"([^"]*)"|'([^']*)'|([^\s()"']+))""")

_Test = Callable[[str], bool]


def select(scenarios: Sequence[Scenario], expression: str) -> tuple[Scenario, ...]:
    """Return the scenarios that match, in order; all of them if the expression is empty. Errors: BadExpression."""
    if not expression.strip():
        return tuple(scenarios)
    test = _Parser(expression).parse()
    return tuple(scenario for scenario in scenarios if test(searchable_text(scenario)))


def searchable_text(scenario: Scenario) -> str:
    """Return the case-folded text that is searched: title, name, family, cluster and failure type, a line each."""
    about = scenario.about
    labels = (about.family, about.cluster, about.failure_type)
    return "\n".join((scenario.title, about.name, *(label or "" for label in labels))).casefold()


class _Token(NamedTuple):
    """A token: `(`, `)`, `and`, `or`, `not`, `word`, or `` at the end."""

    kind: str
    text: str
    at: int


def _tokens(expression: str) -> Iterator[_Token]:
    at = 0
    while expression[at:].strip():
        match = _token.match(expression, at)
        if match is None:
            raise _syntax_error(f"a quote is opened at character {at + 1} and not closed")
        bracket, double, single, bare = match.groups()
        at = match.end() - len(match[0].lstrip())
        if bracket is not None:
            yield _Token(bracket, bracket, at)
        elif bare is not None and bare.lower() in _OPERATORS:
            yield _Token(bare.lower(), bare, at)
        else:
            yield _Token("word", next(word for word in (double, single, bare) if word is not None), at)
        at = match.end()
    yield _Token("", "", at)


class _Parser:
    """A recursive descent parser of one expression."""

    def __init__(self, expression: str) -> None:
        self._tokens_left = list(_tokens(expression))[::-1]

    def parse(self) -> _Test:
        test = self._parse_or(0)
        if self._tokens_left[-1].kind:
            raise self._unexpected("and, or, or the end")
        return test

    def _parse_or(self, depth: int) -> _Test:
        tests = [self._parse_and(depth)]
        while self._accept("or"):
            tests.append(self._parse_and(depth))
        return tests[0] if len(tests) == 1 else lambda words: any(test(words) for test in tests)

    def _parse_and(self, depth: int) -> _Test:
        tests = [self._parse_term(depth)]
        while self._accept("and"):
            tests.append(self._parse_term(depth))
        return tests[0] if len(tests) == 1 else lambda words: all(test(words) for test in tests)

    def _parse_term(self, depth: int) -> _Test:
        if depth > DEPTH_MAX:
            raise _syntax_error(f"nests more than {DEPTH_MAX} deep")
        if self._accept("not"):
            negated = self._parse_term(depth + 1)
            return lambda words: not negated(words)
        if self._accept("("):
            test = self._parse_or(depth + 1)
            if not self._accept(")"):
                raise self._unexpected("and, or, or )")
            return test
        if self._tokens_left[-1].kind != "word":
            raise self._unexpected("a word, not, or (")
        word = self._tokens_left.pop().text.casefold()
        return lambda words: word in words

    def _accept(self, kind: str) -> bool:
        if self._tokens_left[-1].kind != kind:
            return False
        self._tokens_left.pop()
        return True

    def _unexpected(self, expected: str) -> BadExpression:
        token = self._tokens_left[-1]
        position = f"{token.text!r} at character {token.at + 1}" if token.kind else "its end"
        return _syntax_error(f"{expected} belongs where {position} is")


def _syntax_error(problem: str) -> BadExpression:
    return BadExpression(f"-k: {problem}.", "Write words with and, or, not and brackets, as in 'image and not llm'.")
