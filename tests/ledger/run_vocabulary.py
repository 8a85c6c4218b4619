"""A vocabulary with every life but one: runs are opened, continued, closed and reopened, probes are single."""

from events.envelope import Draft
from events.life import Life
from events.payload import Payload, StreamId
from events.vocabulary import EventType, Vocabulary
from tests.support.drafts import SOURCE


class RunStarted(Payload, frozen=True, kw_only=True):
    """Opens a run; without an id the ledger makes it."""

    run_id: StreamId | None = None
    note: str = ""


class RunStepped(Payload, frozen=True, kw_only=True):
    """Continues a run."""

    run_id: StreamId
    note: str = ""


class RunFinished(Payload, frozen=True, kw_only=True):
    """Closes a run."""

    run_id: StreamId
    note: str = ""


class RunReopened(Payload, frozen=True, kw_only=True):
    """Reopens a run."""

    run_id: StreamId
    note: str = ""


class ProbeScored(Payload, frozen=True, kw_only=True):
    """A stream of one, of another family and with another id field."""

    probe_id: StreamId | None = None
    note: str = ""


RUNS = Vocabulary(
    [
        EventType("run.started.v1", RunStarted, "run", "run_id", Life.OPENS),
        EventType("run.stepped.v1", RunStepped, "run", "run_id", Life.CONTINUES),
        EventType("run.finished.v1", RunFinished, "run", "run_id", Life.CLOSES),
        EventType("run.reopened.v1", RunReopened, "run", "run_id", Life.REOPENS),
        EventType("probe.scored.v1", ProbeScored, "probe", "probe_id", Life.SINGLE),
    ]
)


def draft(
    payload: Payload,
    id: str | None = None,  # noqa: A002 - the attribute's name
    *,
    source: str = SOURCE,
    expectedversion: int | None = None,
    subject: str | None = None,
) -> Draft:
    """Return the draft of a payload of this vocabulary, like one from the HTTP interface."""
    (kind,) = (kind for kind in RUNS.event_types.values() if kind.payload is type(payload))
    return kind.draft(data=payload, id=id, source=source, expectedversion=expectedversion, subject=subject)


def start(
    name: str | None = None,
    note: str = "",
    *,
    id: str | None = None,  # noqa: A002 - the attribute's name
    source: str = SOURCE,
    expectedversion: int | None = None,
) -> Draft:
    return draft(RunStarted(run_id=name, note=note), id, source=source, expectedversion=expectedversion)


def step(
    name: str,
    note: str = "",
    *,
    id: str | None = None,  # noqa: A002 - the attribute's name
    expectedversion: int | None = None,
) -> Draft:
    return draft(RunStepped(run_id=name, note=note), id, expectedversion=expectedversion)


def finish(
    name: str,
    note: str = "",
    *,
    id: str | None = None,  # noqa: A002 - the attribute's name
    expectedversion: int | None = None,
) -> Draft:
    return draft(RunFinished(run_id=name, note=note), id, expectedversion=expectedversion)


def reopen(
    name: str,
    note: str = "",
    *,
    id: str | None = None,  # noqa: A002 - the attribute's name
    expectedversion: int | None = None,
) -> Draft:
    return draft(RunReopened(run_id=name, note=note), id, expectedversion=expectedversion)


def score(
    name: str | None = None,
    note: str = "",
    *,
    id: str | None = None,  # noqa: A002 - the attribute's name
    expectedversion: int | None = None,
) -> Draft:
    return draft(ProbeScored(probe_id=name, note=note), id, expectedversion=expectedversion)
