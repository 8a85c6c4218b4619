"""The controls of a list of decisions: the filters in force, each with the address without it, and the sort order."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from api.http.pages.content import address_of
from api.parameters import split_list
from api.reports.escape import one_line
from projections.decisions.decision_selection import SortField

FILTERS = (
    "search", "retrieval_mode", "hybrid_weight", "embedding", "embedding_model", "agent", "category", "stakes",
    "outcome", "status", "model", "project", "feature", "tag", "cluster", "since", "until", "window", "as_of",
)  # fmt: skip
"""The parameters that select decisions, in the order in which they are shown."""

VALUE_CHARS_MAX = 60


class ActiveFilter(NamedTuple):
    """A filter in force, and the address of the list without it."""

    name: str
    value: str
    without: str


def active_filters(path: str, parameters: Mapping[str, str], names: Sequence[str] = FILTERS) -> Sequence[ActiveFilter]:
    """Return the filters in force. Each tag is one of its own; a list without a filter begins at its first page."""
    return list(_active(path, parameters, names))


def _active(path: str, parameters: Mapping[str, str], names: Sequence[str]) -> Iterator[ActiveFilter]:
    for name in names:
        value = parameters.get(name)
        if value is None:
            continue
        if name == "tag":
            tags = split_list("tag", value)
            for tag in tags:
                others = ",".join(other for other in tags if other != tag) or None
                yield ActiveFilter(name, _shown(tag), address_of(path, parameters, tag=others, offset=None))
        else:
            yield ActiveFilter(name.replace("_", " "), _shown(value), _without(path, parameters, name))


def _shown(value: str) -> str:
    return one_line(value, VALUE_CHARS_MAX)


def _without(path: str, parameters: Mapping[str, str], name: str) -> str:
    ranked = ("retrieval_mode", "hybrid_weight", "embedding", "embedding_model")
    also = ranked if name in ("search", "retrieval_mode") else ()
    return address_of(path, parameters, **dict.fromkeys((name, "offset", *also)))


def without_filters(path: str, parameters: Mapping[str, str]) -> str:
    """Return the address of the whole list in the same order."""
    return address_of(path, parameters, **dict.fromkeys((*FILTERS, "offset")))


COLUMNS: Sequence[tuple[str, SortField | None, bool, str]] = (
    ("Decision", None, False, "what"),
    ("Outcome", "status", False, ""),
    ("Confidence", "confidence", True, ""),
    ("Agent", None, False, ""),
    ("Category", "category", False, ""),
    ("Stakes", "stakes", True, ""),
    ("Recorded", "created_at", True, ""),
)
"""Label, field, whether the first click sorts in descending order, and class, of each column.

A ranked search is in the order of its ranks, and cannot be sorted.
"""


def settle_ranking(parameters: Mapping[str, str]) -> Mapping[str, str]:
    """Return parameters without those that a form sends along and that do not apply.

    A mode applies only to a search; order and offset only to a list that is not ranked.
    """
    if "retrieval_mode" not in parameters:
        return parameters
    ranked = "search" in parameters or "embedding" in parameters
    unused: Collection[str] = ("sort", "order", "offset") if ranked else ("retrieval_mode", "hybrid_weight")
    return {name: value for name, value in parameters.items() if name not in unused}
