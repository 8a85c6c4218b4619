"""The sessions projection: of each session what its files show, its answers by model, and how its calls ended."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

import msgspec

from events.call import CallRecorded, CallVerdict, DeniedBy, VerdictBasis
from events.envelope import EventFacts
from events.observation import ObservationScanned
from events.payload import Payload
from events.session import SessionRecorded
from projections.projection import Projection
from projections.saved_state import Part, keyed, saved_pairs, saved_value

SESSIONS: Final = "sessions"
"""The scope of scans of a program's sessions."""


class ModelUse(msgspec.Struct, kw_only=True):
    """The answers of one model in a session, and their tokens. `input` has none from the cache.

    `announced`, `explained` and `unexplained` count those before which another model answered.
    """

    requested: str | None
    served: str | None
    answers: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    announced: int = 0
    explained: int = 0
    unexplained: int = 0


class ToolUse(msgspec.Struct, kw_only=True):
    """The calls of one tool in a session that ended alike."""

    tool: str
    verdict: CallVerdict | None
    denied_by: DeniedBy | None
    basis: VerdictBasis | None
    calls: int = 0


class ServedDay(NamedTuple):
    """A day (UTC), and answers of a program in one version by one model on it."""

    program: str
    version: str | None
    day: str
    requested: str | None
    served: str | None


class SessionState(msgspec.Struct, kw_only=True):
    """A session. `shown` is what its files show; None if only calls of it were recorded."""

    session_id: str
    program: str
    shown: SessionRecorded | None = None
    models: list[ModelUse] = []
    tools: list[ToolUse] = []

    def add_call(self, call: CallRecorded) -> None:
        """Add an answer, or a call of a tool."""
        if call.tool is None:
            names = call.model, call.reported_model
            use = next((one for one in self.models if (one.requested, one.served) == names), None)
            if use is None:
                use = ModelUse(requested=call.model, served=call.reported_model)
                self.models.append(use)
            read, written = call.cache_read_tokens or 0, call.cache_write_tokens or 0
            use.answers += 1
            use.input += max(0, (call.input_tokens or 0) - read - written)
            use.cache_read += read
            use.cache_write += written
            use.output += call.output_tokens or 0
            if call.switch is not None:
                setattr(use, call.switch, getattr(use, call.switch) + 1)
            return
        ended = call.tool, call.verdict, call.denied_by, call.basis
        calls = next((one for one in self.tools if (one.tool, one.verdict, one.denied_by, one.basis) == ended), None)
        if calls is None:
            calls = ToolUse(tool=call.tool, verdict=call.verdict, denied_by=call.denied_by, basis=call.basis)
            self.tools.append(calls)
        calls.calls += 1


class SessionIndex(Projection):
    """Every session, in the order in which the first event of each was recorded."""

    name: ClassVar[str] = "sessions"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Payload], ...]] = (SessionRecorded, CallRecorded, ObservationScanned)

    parts: ClassVar[Mapping[str, Part]] = {
        "sessions": keyed("_sessions", SessionState, "session_id"),
        "days": saved_pairs("_days", ServedDay, int),
        "missing": saved_value("_missing", dict[str, int]),
    }

    def __init__(self) -> None:
        self._sessions: dict[str, SessionState] = {}
        self._days: dict[ServedDay, int] = {}
        self._missing: dict[str, int] = {}

    def fold(self, events: Sequence[EventFacts]) -> None:
        for event in events:
            self.add(event.data, event.time)

    def add(self, data: Payload, time: str) -> None:
        """Add what an event says. A call with a trace is no part of a session: a program exported it."""
        if isinstance(data, SessionRecorded):
            self._session(data.session_id, data.program).shown = data
        elif isinstance(data, ObservationScanned):
            if data.scope == SESSIONS:
                self._missing[data.source] = data.gone
        elif isinstance(data, CallRecorded) and data.trace_id is None and data.conversation_id is not None:
            session = self._session(data.conversation_id, data.agent or "")
            session.add_call(data)
            if data.tool is None:
                day = ServedDay(session.program, data.agent_version, time[:10], data.model, data.reported_model)
                self._days[day] = self._days.get(day, 0) + 1

    def _session(self, session_id: str, program: str) -> SessionState:
        state = self._sessions.get(session_id)
        if state is None:
            state = self._sessions[session_id] = SessionState(session_id=session_id, program=program)
        return state

    def copy(self) -> "SessionIndex":
        """Return a copy, which later folding does not change."""
        return SessionIndex.decode(self.encode())

    def sessions(self) -> list[SessionState]:
        """Return every session."""
        return list(self._sessions.values())

    def days(self) -> dict[ServedDay, int]:
        """Return the number of answers on each day."""
        return dict(self._days)

    def missing(self) -> dict[str, int]:
        """Return by program how many sessions its list of prompts names that had no file at the last scan."""
        return dict(self._missing)

    def summary(self) -> Mapping[str, object]:
        return {"sessions": len(self._sessions)}
