"""One table for all errors, without gaps; and the tree that is drawn is the tree there is."""

import re
from collections.abc import Iterator

import pytest

from api.errors import ERROR_TABLE, error_codes, make_problem
from events.errors import TallystickError
from ledger import errors
from ledger.errors import AppendRefused, LedgerBusy, LifecycleViolation

ABSTRACT = {"AppendRefused", "AccessRefused", "LimitReached", "NothingWritten"}
"""Classes that only gather others and are never raised themselves."""


def below(kind: type[TallystickError]) -> Iterator[type[TallystickError]]:
    for child in kind.__subclasses__():
        if child.__module__.partition(".")[0] != "tests":
            yield child
            yield from below(child)


def test_every_error_has_its_row() -> None:
    missing = [
        kind.__name__ for kind in below(TallystickError) if kind not in ERROR_TABLE and kind.__name__ not in ABSTRACT
    ]
    assert not missing, f"add to TABLE in api/errors.py: {missing}"


@pytest.mark.parametrize("kind", ERROR_TABLE, ids=lambda kind: kind.__name__)
def test_every_row_speaks_the_languages_of_its_interfaces(kind: type[TallystickError]) -> None:
    answer = ERROR_TABLE[kind]
    assert 400 <= answer.status < 600
    assert answer.rpc in (-32602, -32603)
    assert answer.exit in (1, 2)
    assert answer.title


def test_the_tree_that_is_drawn_is_the_tree_there_is() -> None:
    drawn = re.findall(r"^(?P<indent>[│├└─ ]*)(?P<name>[A-Z]\w+)", errors.__doc__ or "", re.MULTILINE)
    parents: list[str] = []
    found: dict[str, str] = {}
    for indent, name in drawn:
        depth = len(indent) // 4
        if name not in {kind.__name__ for kind in below(TallystickError)} | {"TallystickError"}:
            continue
        parents[depth:] = [name]
        if depth:
            found[name] = parents[depth - 1]
    actual = {kind.__name__: kind.__bases__[0].__name__ for kind in below(TallystickError)}
    ledgers = {name: parent for name, parent in actual.items() if name in found}
    assert found == ledgers
    undrawn = {
        kind.__name__ for kind in below(TallystickError) if kind.__module__ in ("ledger.errors", "events.errors")
    }
    assert undrawn <= found.keys(), f"draw in ledger/errors.py: {sorted(undrawn - found.keys())}"


def test_a_problem_carries_the_data_of_its_error() -> None:
    refused = LifecycleViolation("No.", "Yes.", subject="decision/a", index=3)
    problem = make_problem(refused, "r-1")
    assert (problem.status, problem.field, problem.index, problem.request_id) == (409, "subject", 3, "r-1")
    assert (problem.detail, problem.advice) == ("No.", "Yes. Nothing was written.")
    assert isinstance(refused, AppendRefused)
    assert error_codes(LedgerBusy(7)).status == 503
