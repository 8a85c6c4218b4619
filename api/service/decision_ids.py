"""Resolve the ids of decisions through the names of streams, which the ledger keeps."""

import sys

from api.service.id_prefix import id_not_found
from api.service.ledger import View
from ledger.errors import NotFound
from projections.decisions.decision_index import DecisionIndex

_KIND = "decision/"


async def position_of_views(view: View) -> int:
    """Return the position as of which decisions are shown. An earlier position needs no state of the index.

    Errors: InvalidQuery, for a position beyond the head.
    """
    if view.position is not None and 0 <= view.position <= (await view.reader.head()).position:
        return view.position
    _, position = await view.at(DecisionIndex)
    return position


async def has_decision(view: View, decision_id: str, position: int) -> bool:
    """Return whether a decision with exactly this id existed as of a position of the views."""
    return bool(await view.engine.names.first_positions([_KIND + decision_id], position))


async def ids_starting_with(view: View, beginning: str, position: int) -> list[str]:
    """Return up to two ids of decisions that start with a text and existed as of a position of the views."""
    subjects = await view.engine.names.starting_with(_KIND + beginning, position)
    return [subject.removeprefix(_KIND) for subject in subjects]


async def resolve_decision_id(view: View, given: str, position: int, *, prefix: bool) -> str:
    """Return an existing id: `given`, or with `prefix` the only id that begins with it. Errors: NotFound."""
    if await has_decision(view, given, position):
        return given
    matches = await ids_starting_with(view, given, position) if prefix and given else []
    if len(matches) == 1:
        return matches[0]
    if later := await view.engine.names.first_positions([_KIND + given], sys.maxsize):
        advice = f"It was recorded at position {later[_KIND + given]}: ask as of that position, or a later one."
        raise NotFound(f"Decision not found as of position {position}: {given}", advice, name=given)
    raise id_not_found(given, "decision", ambiguous=bool(matches))
