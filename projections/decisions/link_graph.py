"""The links projection: the graph of links between decisions.

The state has one row for each link, and each decision's id once. Contexts and times are not in the state: to show a
link, its event is read (`position`). A link of the same type between the same two decisions
replaces the earlier one in its row. A decision is in the graph if a link names it, also if the ledger does not have it.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import ClassVar, Literal, NamedTuple, get_args

from events.decision import DecisionRetracted
from events.envelope import EventFacts
from events.link import DecisionLinked, LinkType
from events.payload import Payload
from projections.projection import Projection
from projections.saved_state import Part, ordered_set, rebuilt, saved_column, saved_names

Direction = Literal["outgoing", "incoming", "both"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
LINK_TYPES: tuple[LinkType, ...] = get_args(LinkType)

UNSTATED_WEIGHT = 0.5
"""Orders links that state no weight among the others. The reference server of CSTP reads such links so, too."""

LINKS_MAX = 20_000
"""Links that one walk follows before it ends: a tenth of a second."""

_NAN = float("nan")
_SUPERSEDES = LINK_TYPES.index("supersedes")
_numbers = {name: number for number, name in enumerate(LINK_TYPES)}

_LinkKey = tuple[int, int, int]
"""The numbers of the two decisions and of the type."""


class GraphLink(NamedTuple):
    """A link: its two decisions, its type, its weight (None if it states none), and the position of its event."""

    source_id: str
    target_id: str
    edge_type: LinkType
    weight: float | None
    position: int

    @property
    def rank(self) -> tuple[float, int]:
        """The order of links by weight, the strongest first, then by position."""
        return (-(UNSTATED_WEIGHT if self.weight is None else self.weight), self.position)


class LinkSelection(NamedTuple):
    """Which links to follow: in which direction from a decision, and of which types; every type if empty."""

    direction: Direction = "both"
    types: tuple[LinkType, ...] = ()


class Subgraph(NamedTuple):
    """The decisions and links found from a decision, the nearest first.

    `total` counts the links, also those left out, until LINKS_MAX are found.
    """

    decisions: list[str]
    links: list[GraphLink]
    total: int


def _join_keys(keys: list[_LinkKey]) -> bytes:
    return array("I", (number for key in keys for number in key)).tobytes()


def _split_keys(joined: bytes) -> list[_LinkKey]:
    flat = array("I", joined)
    return list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))


class LinkGraph(Projection):
    """Every link, by the decisions that it joins."""

    name: ClassVar[str] = "links"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (DecisionLinked, DecisionRetracted)

    parts: ClassVar[Mapping[str, Part]] = {
        "decisions": saved_names("_decisions"),
        "keys": rebuilt("_keys", bytes, _join_keys, _split_keys),
        "weights": saved_column("_weights"),
        "positions": saved_column("_positions"),
        "retracted": ordered_set("_retracted"),
    }

    def __init__(self) -> None:
        self._decisions: dict[str, int] = {}
        self._ids: list[str] = []
        self._rows: dict[_LinkKey, int] = {}
        self._keys: list[_LinkKey] = []
        self._weights = array("d")
        self._positions = array("Q")
        self._outgoing: dict[int, list[int]] = {}
        self._incoming: dict[int, list[int]] = {}
        self._retracted: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            data = event.data
            if type(data) is DecisionLinked:
                self._link(data, event.position)
            elif type(data) is DecisionRetracted:
                self._retracted[data.decision_id] = None

    def _link(self, data: DecisionLinked, position: int) -> None:
        key = (self._number(data.source_id), self._number(data.target_id), _numbers[data.edge_type])
        weight = _NAN if data.weight is None else data.weight
        row = self._rows.get(key)
        if row is None:
            self._add(key, weight, position)
        else:
            self._weights[row], self._positions[row] = weight, position

    def _add(self, key: _LinkKey, weight: float, position: int) -> None:
        self._keys.append(key)
        self._weights.append(weight)
        self._positions.append(position)
        self._index(len(self._keys) - 1, key)

    def _index(self, row: int, key: _LinkKey) -> None:
        self._rows[key] = row
        self._outgoing.setdefault(key[0], []).append(row)
        self._incoming.setdefault(key[1], []).append(row)

    def _number(self, decision_id: str) -> int:
        number = self._decisions.get(decision_id)
        if number is None:
            number = self._decisions[decision_id] = len(self._ids)
            self._ids.append(decision_id)
        return number

    def complete(self) -> None:
        self._ids = list(self._decisions)
        assert len(self._keys) == len(self._weights) == len(self._positions), "columns of unlike length"
        for row, key in enumerate(self._keys):
            self._index(row, key)

    def summary(self) -> Mapping[str, object]:
        by_type = dict.fromkeys(LINK_TYPES, 0)
        for _, _, number in self._keys:
            by_type[LINK_TYPES[number]] += 1
        return {"links": len(self), "decisions": len(self._ids), "by_type": by_type}

    def has(self, decision_id: str) -> bool:
        """Return whether a link names a decision."""
        return decision_id in self._decisions

    def degrees(self, decision_id: str) -> tuple[int, int]:
        """Return the numbers of links to a decision, and from it."""
        number = self._decisions.get(decision_id, -1)
        return len(self._incoming.get(number, ())), len(self._outgoing.get(number, ()))

    def superseded_by(self, decision_id: str, upto: int) -> tuple[str, ...]:
        """Return the decisions that supersede one, linked up to a position; without those that were retracted."""
        rows = (row for row in self._superseding(decision_id) if self._positions[row] <= upto)
        ids = (self._ids[self._keys[row][0]] for row in rows)
        return tuple(name for name in ids if name not in self._retracted)

    def may_be_superseded(self, decision_id: str) -> bool:
        """Return whether a decision is superseded by any other, perhaps by a retracted one. If not, it never was."""
        return bool(self._superseding(decision_id))

    def _superseding(self, decision_id: str) -> list[int]:
        """Return the rows of the links by which others supersede a decision."""
        rows = self._incoming.get(self._decisions.get(decision_id, -1), ())
        return [row for row in rows if self._keys[row][2] == _SUPERSEDES]

    def links_of(self, decision_id: str, selection: LinkSelection) -> list[GraphLink]:
        """Return the links of a decision, the strongest first."""
        number = self._decisions.get(decision_id, -1)
        links = (self._link_at(row) for row, _ in self._steps(number, selection.direction, _codes(selection.types)))
        return sorted(links, key=lambda link: link.rank)

    def walk(self, decision_id: str, depth: int, selection: LinkSelection, limit: int) -> Subgraph:
        """Follow links from a decision, breadth first, up to so many steps; return each link once, at most `limit`.

        The walk ends after LINKS_MAX links.
        """
        start = self._decisions.get(decision_id)
        if start is None:
            return Subgraph([decision_id], [], 0)
        codes = _codes(selection.types)
        seen_rows: dict[int, None] = {}
        reached = {start}
        level = [start]
        for _ in range(depth):
            further: list[int] = []
            for number in level:
                if len(seen_rows) >= LINKS_MAX:
                    break
                for row, other in self._steps(number, selection.direction, codes):
                    seen_rows[row] = None
                    if other not in reached:
                        reached.add(other)
                        further.append(other)
            level = further
        rows = list(seen_rows)[:limit]
        joined = (number for row in rows for number in self._keys[row][:2])
        decisions = dict.fromkeys((start, *joined))
        return Subgraph([self._ids[number] for number in decisions], list(map(self._link_at, rows)), len(seen_rows))

    def _steps(self, number: int, direction: Direction, codes: frozenset[int]) -> Iterator[tuple[int, int]]:
        """Yield the row of each link that may be followed from a decision, and the decision at its other end."""
        if direction != "incoming":
            for row in self._outgoing.get(number, ()):
                if self._keys[row][2] in codes:
                    yield row, self._keys[row][1]
        if direction != "outgoing":
            for row in self._incoming.get(number, ()):
                if self._keys[row][2] in codes:
                    yield row, self._keys[row][0]

    def _link_at(self, row: int) -> GraphLink:
        source, target, code = self._keys[row]
        weight = self._weights[row]
        stated = None if isnan(weight) else weight
        return GraphLink(self._ids[source], self._ids[target], LINK_TYPES[code], stated, self._positions[row])


def _codes(types: tuple[LinkType, ...]) -> frozenset[int]:
    """Return the numbers of some types; of all, if none is named."""
    return frozenset(_numbers[name] for name in types or LINK_TYPES)
