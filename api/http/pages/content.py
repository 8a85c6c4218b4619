"""What a page shows."""

from collections.abc import Mapping
from typing import NamedTuple


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
