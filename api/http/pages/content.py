"""What a page shows, and the addresses that it links to."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode


class Content(NamedTuple):
    """What a page shows: its title, and the variables of its template.

    `json` is the address of the same figures as JSON. `live` is the query of `GET /events` that selects the events
    after which the page is loaded again, without `after`; None: the page is not live. It may be several queries,
    separated by spaces, each perhaps followed by `#` and a text that an event must contain.
    """

    title: str
    variables: Mapping[str, object]
    json: str | None = None
    live: str | None = None


def address_of(path: str, parameters: Mapping[str, str], **changed: object) -> str:
    """Return a path with query parameters, some of them changed; None leaves one out."""
    merged = {**parameters, **{name: None if value is None else str(value) for name, value in changed.items()}}
    query = urlencode({name: value for name, value in merged.items() if value is not None})
    return f"{path}?{query}" if query else path


class ListLinks(NamedTuple):
    """Where a page is in a list, as the macro `pager` takes it: the pages beside it, its first and last row, from 1."""

    previous: str | None
    next: str | None
    first: int
    last: int
    total: int


def list_links(path: str, parameters: Mapping[str, str], offset: int, limit: int, shown: int, total: int) -> ListLinks:
    """Return the links of a page that shows so many rows of a list, from an offset on."""
    before, after = max(0, min(offset, total) - limit), offset + shown
    return ListLinks(
        previous=address_of(path, parameters, offset=before or None) if offset else None,
        next=address_of(path, parameters, offset=after) if shown and after < total else None,
        first=offset + 1 if shown else 0,
        last=after if shown else 0,
        total=total,
    )
