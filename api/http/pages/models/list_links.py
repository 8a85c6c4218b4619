"""The place of a page in a list, and the links to the pages beside it."""

from collections.abc import Mapping
from typing import NamedTuple

from api.http.pages.page import address_of
from api.parameters import integer_parameter

ROWS_MAX = 100
ROWS = integer_parameter("limit", "Rows of a page.", 1, ROWS_MAX, default=50)
"""The pages' own limit: with more rows a page could be larger than 200 KB."""


class ListLinks(NamedTuple):
    """The arguments of the macro `pager`, in its order."""

    previous: str | None
    next: str | None
    first: int
    last: int
    total: int


def list_links(
    path: str, parameters: Mapping[str, str], *, offset: int, limit: int, shown: int, total: int
) -> ListLinks:
    """Return the links from a page that shows so many rows of a list, from `offset` on."""
    before, after = max(0, min(offset, total) - limit), offset + shown
    return ListLinks(
        previous=address_of(path, parameters, offset=before or None) if offset else None,
        next=address_of(path, parameters, offset=after) if shown and after < total else None,
        first=offset + 1 if shown else 0,
        last=after if shown else 0,
        total=total,
    )
