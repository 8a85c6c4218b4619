"""Which scenarios of a suite: an expression as pytest's `-k` takes it.

    expression = conjunction { "or" conjunction }
    conjunction = term { "and" term }
    term = "not" term | "(" expression ")" | word | "quoted words"

A word is true of a scenario whose title, name, family or failure type holds it, whatever the case.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from instruments.evals.errors import BadExpression
from instruments.evals.scenario import Scenario

DEPTH_MAX = 50
"""Brackets and `not` within each other."""

_OPERATORS = frozenset({"and", "or", "not"})
_token = re.compile(r"""\s*(?:([()])|"([^"]*)"|'([^']*)'|([^\s()"']+))""")

_Test = Callable[[str], bool]


def select(scenarios: Sequence[Scenario], expression: str) -> tuple[Scenario, ...]:
    """Those that the expression is true of, in their order; all of them where it is empty. Errors: BadExpression."""
    if not expression.strip():
        return tuple(scenarios)
    test = _Reader(expression).read()
    return tuple(scenario for scenario in scenarios if test(words_of(scenario)))


def words_of(scenario: Scenario) -> str:
    """What a word is looked for in: title, name, family and failure type, a line each, folded."""
    about = scenario.about
    return "\n".join((scenario.title, about.name, about.family or "", about.failure_type or "")).casefold()


class _Token(NamedTuple):
    """A piece of an expression: `(`, `)`, `and`, `or`, `not`, `word`, or `` at its end."""

    kind: str
    text: str
    at: int


def _tokens(expression: str) -> Iterator[_Token]:
    at = 0
    while expression[at:].strip():
        found = _token.match(expression, at)
        if found is None:
            raise _broken(f"a quote is opened at character {at + 1} and not closed")
        bracket, double, single, bare = found.groups()
        at = found.end() - len(found[0].lstrip())
        if bracket is not None:
            yield _Token(bracket, bracket, at)
        elif bare is not None and bare.lower() in _OPERATORS:
            yield _Token(bare.lower(), bare, at)
        else:
            yield _Token("word", next(each for each in (double, single, bare) if each is not None), at)
        at = found.end()
    yield _Token("", "", at)


class _Reader:
    """An expression, read from its beginning to its end."""

    def __init__(self, expression: str) -> None:
        self._left = list(_tokens(expression))[::-1]

    def read(self) -> _Test:
        test = self._any(0)
        if self._left[-1].kind:
            raise self._unexpected("and, or, or the end")
        return test

    def _any(self, depth: int) -> _Test:
        tests = [self._all(depth)]
        while self._took("or"):
            tests.append(self._all(depth))
        return tests[0] if len(tests) == 1 else lambda words: any(test(words) for test in tests)

    def _all(self, depth: int) -> _Test:
        tests = [self._term(depth)]
        while self._took("and"):
            tests.append(self._term(depth))
        return tests[0] if len(tests) == 1 else lambda words: all(test(words) for test in tests)

    def _term(self, depth: int) -> _Test:
        if depth > DEPTH_MAX:
            raise _broken(f"nests more than {DEPTH_MAX} deep")
        if self._took("not"):
            denied = self._term(depth + 1)
            return lambda words: not denied(words)
        if self._took("("):
            test = self._any(depth + 1)
            if not self._took(")"):
                raise self._unexpected("and, or, or )")
            return test
        if self._left[-1].kind != "word":
            raise self._unexpected("a word, not, or (")
        word = self._left.pop().text.casefold()
        return lambda words: word in words

    def _took(self, kind: str) -> bool:
        if self._left[-1].kind != kind:
            return False
        self._left.pop()
        return True

    def _unexpected(self, wanted: str) -> BadExpression:
        token = self._left[-1]
        found = f"{token.text!r} at character {token.at + 1}" if token.kind else "its end"
        return _broken(f"{wanted} belongs where {found} is")


def _broken(what: str) -> BadExpression:
    return BadExpression(f"-k: {what}.", "Write words with and, or, not and brackets, as in 'image and not llm'.")
