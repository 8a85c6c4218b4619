"""The rules about appends: acknowledged, refused and repeated ones, conflicts, and whole batches."""

from collections.abc import Iterator, Mapping

from tests.faults.history.final_log import FinalLog, Timeline, Violation
from tests.faults.history.records import (
    AppendCall,
    AppendFailed,
    AppendOk,
    ClientEvent,
    EventPlace,
    History,
    OutcomeUnknown,
)

Key = tuple[str, str]

NOT_ADMITTED = ("StreamConflict", "LifecycleViolation", "ForeignStream", "IdentityConflict")
"""Refusals for which the log has looked up the ids and the streams."""


def acknowledged_lines(history: History, log: FinalLog) -> Iterator[Violation]:
    """(1) Every acknowledged event is at its position, as the client posted it and as the log answered."""
    for call, event, place in _acknowledged(history):
        line, names = log.lines.get(place.position), (call.invoked.name,)
        if line is None:
            yield Violation(1, f"{event.id} was acknowledged, and the log has no such line", place.position, names)
        elif line.key != event.key:
            yield Violation(1, f"{event.id} was acknowledged, and the line is {line.id}", place.position, names)
        elif not line.holds(event):
            yield Violation(1, f"the line of {event.id} is not what the client posted", place.position, names)
        elif (line.subject, line.streamversion) != (place.subject, place.version):
            answered, stored = f"{place.subject} {place.version}", f"{line.subject} {line.streamversion}"
            yield Violation(1, f"{event.id} was answered as {answered} and stored as {stored}", place.position, names)
    for call in history.appends:
        if isinstance(call.answer, AppendOk) and len(call.answer.places) != len(call.invoked.events):
            detail = f"{len(call.answer.places)} places answer {len(call.invoked.events)} events"
            yield Violation(1, detail, None, (call.invoked.name,))


def refused_lines(history: History, log: FinalLog, existing: int) -> Iterator[Violation]:
    """(2) The log has only what a client posted, and nothing of which every attempt was refused."""
    attempts: dict[Key, list[tuple[AppendCall, ClientEvent]]] = {}
    for call in history.appends:
        for event in call.invoked.events:
            attempts.setdefault(event.key, []).append((call, event))
    for position, line in log.lines.items():
        if position <= existing:
            continue
        tried = attempts.get(line.key, [])
        posted = [call for call, event in tried if line.holds(event)]
        if not posted:
            names = tuple(call.invoked.name for call, _ in tried)
            yield Violation(2, f"no client posted {line.id} with this content", position, names)
        elif all(isinstance(call.answer, AppendFailed) for call in posted):
            names = tuple(call.invoked.name for call in posted)
            yield Violation(2, f"{line.id} was refused and is in the log", position, names)


def real_time_order(history: History, log: FinalLog, timeline: Timeline) -> Iterator[Violation]:
    """(3) If an event was acknowledged or read before another was first posted, it has a lower position."""
    ended: dict[int, tuple[int, str]] = {}
    for call, _, place in _acknowledged(history):
        end = call.answer.at_ns if call.answer else 0
        ended[place.position] = min(ended.get(place.position, (end, call.invoked.name)), (end, call.invoked.name))
    for asked, page in history.pages:
        for position in page.positions:
            if position not in ended or page.at_ns < ended[position][0]:
                ended[position] = page.at_ns, asked.name
    earliest: tuple[int, str, int] | None = None
    for position in sorted(log.lines, reverse=True):
        line = log.lines[position]
        if position in ended and (earliest is None or ended[position][0] < earliest[0]):
            earliest = *ended[position], position
        began = timeline.first_posted.get(line.key)
        if began is not None and earliest is not None and earliest[0] < began:
            detail = f"{line.id} was first posted after position {earliest[2]} was acknowledged or read"
            yield Violation(3, detail, position, (earliest[1],))


def expected_versions(history: History, log: FinalLog) -> Iterator[Violation]:
    """(6) Of all events that expect the same version of a stream, one at most is acknowledged, at the next version."""
    winners: dict[tuple[str, int], tuple[Key, str]] = {}
    for call, event, place in _acknowledged(history):
        if event.expected is None:
            continue
        name = call.invoked.name
        if place.version != event.expected + 1:
            detail = f"{event.id} expected version {event.expected} and is version {place.version}"
            yield Violation(6, detail, place.position, (name,))
        first, first_name = winners.setdefault((place.subject, event.expected), (event.key, name))
        if first != event.key:
            detail = f"{first[1]} and {event.id} both won version {event.expected} of {place.subject}"
            yield Violation(6, detail, place.position, (first_name, name))
    for call in history.appends:
        for event in call.invoked.events if call.answer is None or isinstance(call.answer, OutcomeUnknown) else ():
            for position in log.by_key.get(event.key, []) if event.expected is not None else ():
                line = log.lines[position]
                if line.holds(event) and line.streamversion - 1 != event.expected:
                    detail = f"{event.id} expected version {event.expected} and is version {line.streamversion}"
                    yield Violation(6, detail, position, (call.invoked.name,))


def conflicts(history: History, log: FinalLog, timeline: Timeline) -> Iterator[Violation]:
    """(6) The version that a conflict states was true at some moment between the invocation and the answer."""
    for call in history.appends:
        if isinstance(call.answer, AppendFailed) and call.answer.error == "StreamConflict":
            reason = _unjustified(call, call.answer, log, timeline)
            if reason:
                subject = call.answer.subject
                yield Violation(6, f"the conflict on {subject} is not justified: {reason}", None, (call.invoked.name,))


def _unjustified(call: AppendCall, conflict: AppendFailed, log: FinalLog, timeline: Timeline) -> str:
    """Why a conflict could not be true; empty if it could."""
    events, index, found = call.invoked.events, conflict.index, conflict.found
    if not 0 <= index < len(events) or found is None or conflict.expected != events[index].expected:
        return f"the client did not expect version {conflict.expected} of event {index}"
    if found == conflict.expected:
        return f"it found the expected version {found}"
    within = sum(event.subject == conflict.subject for event in events[:index])
    version, stream = found - within, log.streams.get(conflict.subject, [])
    if not 0 <= version <= len(stream):
        return f"it found version {found}, and the log has {len(stream)}"
    if version and timeline.possible_from(stream[version - 1]) > conflict.at_ns:
        return f"it found version {found}, which was posted later"
    if version < len(stream) and timeline.known_before(call.invoked.at_ns) >= stream[version]:
        return f"it found version {found}, and version {version + 1} was known before"
    return ""


def identities(history: History, log: FinalLog, timeline: Timeline) -> Iterator[Violation]:
    """(7) An id has one position; all answers state it, one at most as new; no retry of it is refused."""
    for (_, event_id), positions in log.by_key.items():
        if len(positions) > 1:
            yield Violation(7, f"{event_id} is in the log at positions {positions}", positions[-1])
    first: dict[Key, tuple[int, str]] = {}
    new: dict[Key, str] = {}
    for call, event, place in _acknowledged(history):
        name = call.invoked.name
        position, first_name = first.setdefault(event.key, (place.position, name))
        if position != place.position:
            detail = f"{event.id} was answered with positions {position} and {place.position}"
            yield Violation(7, detail, place.position, (first_name, name))
        if not place.duplicate and event.key in new:
            yield Violation(7, f"{event.id} was answered as new twice", place.position, (new[event.key], name))
        elif not place.duplicate:
            new[event.key] = name
            if place.position <= timeline.known_before(call.invoked.at_ns):
                yield Violation(7, f"{event.id} was answered as new, and was known before", place.position, (name,))
        elif timeline.first_posted[event.key] >= call.invoked.at_ns and place.position <= log.newest:
            yield Violation(7, f"{event.id} was answered as a duplicate, and is the first", place.position, (name,))
    for call in history.appends:
        if isinstance(call.answer, AppendFailed) and call.answer.error in NOT_ADMITTED:
            yield from _refused_retries(call, call.answer, log, timeline)


def _refused_retries(call: AppendCall, answer: AppendFailed, log: FinalLog, timeline: Timeline) -> Iterator[Violation]:
    known = timeline.known_before(call.invoked.at_ns)
    if answer.error == "IdentityConflict":
        event = call.invoked.events[answer.index]
        line = log.lines.get(answer.position or 0)
        if line is None or line.key != event.key or line.holds(event):
            detail = f"{event.id} was refused, and position {answer.position} does not hold it with other content"
            yield Violation(7, detail, answer.position, (call.invoked.name,))
        return
    event = call.invoked.events[answer.index]
    for position in log.by_key.get(event.key, []):
        if position <= known and log.lines[position].holds(event):
            detail = f"{event.id} was refused ({answer.error}), and was known to be in the log"
            yield Violation(7, detail, position, (call.invoked.name,))


def whole_batches(history: History, log: FinalLog) -> Iterator[Violation]:
    """(10) A batch is in the log whole, at consecutive positions in its order, or not at all."""
    for name, events in _batches(history).values():
        positions = [log.by_key.get(event.key, [0])[0] for event in events]
        present = sum(map(bool, positions))
        if present and present < len(events):
            yield Violation(10, f"the log has {present} of {len(events)} events", max(positions), (name,))
        elif present and positions != list(range(positions[0], positions[0] + len(events))):
            yield Violation(10, f"a batch is at {positions}", positions[0], (name,))
    for call in history.appends:
        if isinstance(call.answer, AppendOk) and (places := call.answer.places):
            first, name = places[0].position, call.invoked.name
            if [place.position for place in places] != list(range(first, first + len(places))):
                yield Violation(10, "a batch was acknowledged at positions that are not consecutive", first, (name,))
            if len({place.duplicate for place in places}) > 1:
                yield Violation(10, "a part of a batch was there when it was posted again", first, (name,))


def inner_positions(history: History, log: FinalLog) -> dict[int, str]:
    """The positions whose batch goes on at the next one, with the name of the append. No head may be there."""
    inner: dict[int, str] = {}
    for name, events in _batches(history).values():
        for event in events[:-1]:
            inner |= dict.fromkeys(log.by_key.get(event.key, [])[:1], name)
    return inner


def _batches(history: History) -> Mapping[tuple[Key, ...], tuple[str, list[ClientEvent]]]:
    """The different batches of more than one event, with their first invocations, unless all attempts were refused."""
    batches: dict[tuple[Key, ...], tuple[str, list[ClientEvent]]] = {}
    for call in history.appends:
        events = call.invoked.events
        if len(events) > 1 and not isinstance(call.answer, AppendFailed):
            batches.setdefault(tuple(event.key for event in events), (call.invoked.name, events))
    return batches


def _acknowledged(history: History) -> Iterator[tuple[AppendCall, ClientEvent, EventPlace]]:
    for call in history.appends:
        if isinstance(call.answer, AppendOk):
            for event, place in zip(call.invoked.events, call.answer.places, strict=False):
                yield call, event, place
