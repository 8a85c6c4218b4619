"""Pages of long lists: the addresses of the previous and the next page, and the places of the shown rows."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from api.http.pages.page import address_of

RUNS = "/ui/evaluations"
COMPARE = f"{RUNS}/compare"
SCOREBOARD = f"{RUNS}/scoreboard"

ROWS = 50
"""Runs on a page."""

SCENARIOS = 100
"""Scenarios on a page."""

_Row = TypeVar("_Row")


class ListPosition(NamedTuple):
    """Addresses of the pages beside the shown one, the places of its first and last row, from 1, and the total."""

    previous: str | None
    next: str | None
    first: int
    last: int
    total: int


class ListPage(NamedTuple):
    """The shown rows of a list, and where they are in it."""

    rows: Sequence[object]
    position: ListPosition


def locate(path: str, parameters: Mapping[str, str], offset: int, shown: int, total: int, size: int) -> ListPosition:
    """Return where `shown` rows from an offset on are in a list of `total` rows, of which a page has `size`."""
    before = max(0, min(offset, total) - size)
    after = offset + shown
    return ListPosition(
        address_of(path, parameters, offset=before or None) if offset else None,
        address_of(path, parameters, offset=after) if after < total else None,
        offset + 1 if shown else 0,
        after if shown else 0,
        total,
    )


def list_page(path: str, parameters: Mapping[str, str], rows: Sequence[_Row], offset: int, size: int) -> ListPage:
    """Return one page of the rows of a list."""
    shown = rows[offset : offset + size]
    return ListPage(shown, locate(path, parameters, offset, len(shown), len(rows), size))
