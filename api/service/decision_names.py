"""Use case: the names that decisions have, to choose a filter from."""

from collections.abc import Iterable
from heapq import nsmallest
from typing import NamedTuple

from api.service.ledger import LedgerService
from events.model_names import split_names
from projections.arrays import sum_by_name
from projections.decisions.decision_index import DecisionIndex

NAMES_MAX = 100
"""Names of each kind that are proposed: those of the most decisions. Others can be stated, too."""

NAME_CHARS_MAX = 100
"""Longer names, and those that cannot be printed, are not proposed."""


class DecisionNames(NamedTuple):
    """How many decisions are recorded, and their commonest names by parameter of a list, in alphabetical order."""

    recorded: int
    by_parameter: dict[str, list[str]]


async def list_decision_names(ledger: LedgerService) -> DecisionNames:
    """Return the commonest agents, categories, projects, features, tags and models of all decisions."""
    projection, _ = await ledger.at(DecisionIndex)
    counted = projection.count_names()
    joined = ((name, n) for names, n in counted["model"] for name in split_names(names) if name)
    counted["model"] = list(sum_by_name(joined).items())
    return DecisionNames(len(projection), {parameter: _commonest(names) for parameter, names in counted.items()})


def _commonest(counted: Iterable[tuple[str, int]]) -> list[str]:
    usable = ((-n, name) for name, n in counted if 0 < len(name) <= NAME_CHARS_MAX and name.isprintable())
    return sorted((name for _, name in nsmallest(NAMES_MAX, usable)), key=lambda name: (name.casefold(), name))
