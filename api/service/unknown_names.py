"""Names in a filter that nothing in the ledger has, which may be misspelt, each with the most similar name."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Protocol

from msgspec import UNSET, UnsetType

from api.service.ledger import LedgerService
from events.envelope import agent_of
from events.model_names import split_names
from ledger.errors import NotFound
from ledger.log import LogPage, Query
from projections.columns import ModelGroupKey, names_by_field
from projections.decisions.decision_index import DecisionIndex
from projections.discovery.run_index import RunIndex
from tallystick.shapes.parts import UnknownName

if TYPE_CHECKING:
    from projections.calibration.calibration_filter import CalibrationFilter

SIMILARITY_MIN = 0.6
"""Names that are less similar (difflib's ratio) are not proposed."""


UnknownNames = list[UnknownName] | UnsetType
"""The unknown names in the filter of an empty answer; absent from every other answer."""


def find_unknown_names(
    filters: Mapping[str, str | Iterable[str] | None], known: Mapping[str, Collection[str]]
) -> UnknownNames:
    """Return the values of filters that are not known, by parameter; UNSET if all are known."""
    given = (
        (parameter, value)
        for parameter, values in filters.items()
        for value in ((values,) if isinstance(values, str) else values or ())
    )
    unknown = [
        UnknownName(parameter=parameter, value=value, nearest=find_nearest(value, known[parameter]))
        for parameter, value in given
        if value not in known[parameter]
    ]
    return unknown or UNSET


def find_nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to a name, whatever its case; None if none is similar."""
    by_folded = {other.casefold(): other for other in known}
    near = get_close_matches(name.casefold(), by_folded, n=1, cutoff=SIMILARITY_MIN)
    return by_folded[near[0]] if near else None


def suggest(nearest: str | None, otherwise: str) -> str:
    """Return the advice for an unknown name: the most similar one, or where to find the names."""
    return f"Did you mean {nearest!r}?" if nearest is not None else otherwise


class EventReader(Protocol):
    """What reads pages of events: a ledger file or a server."""

    async def read(self, query: Query, /) -> LogPage:
        """Return one page of events."""
        ...


async def check_event_names(reader: EventReader, query: Query, known_agents: Collection[str] = ()) -> None:
    """Check that the streams and the agent of a filter are in the log. Errors: NotFound."""
    for subject in query.subjects:
        if not (await reader.read(Query(subjects=(subject,), limit=1))).positions:
            raise NotFound(f"{subject} is not in the log.", "Streams are named KIND/ID, as in decision/3f2a9c1e.")
    if query.source is not None and not (await reader.read(Query(source=query.source, limit=1))).positions:
        agent = agent_of(query.source)
        advice = suggest(find_nearest(agent, known_agents), "tallystick status lists agents.")
        raise NotFound(f"There is no agent {agent!r}: it has recorded nothing here.", advice)


async def find_agents(ledger: LedgerService) -> set[str]:
    """Return the agents that have recorded decisions or discovery runs."""
    decisions, _ = await ledger.at(DecisionIndex)
    runs, _ = await ledger.at(RunIndex)
    return decisions.names()["agent"] | runs.names()["agent"]


def find_unknown_filter_names(
    groups: Sequence[ModelGroupKey], selection: "CalibrationFilter", model: str | None = None
) -> UnknownNames:
    """Return the names of a filter that no decision has. `groups` are those of all decisions."""
    asked = {name: getattr(selection, name) for name in ("agent", "category", "project", "feature")}
    models = {name for key in groups if key[-1] is not None for name in split_names(key[-1]) if name}
    return find_unknown_names({**asked, "model": model}, {**names_by_field(groups), "model": models})
