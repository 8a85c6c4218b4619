"""Mutations of appends and of the lines of the log. Each breaks one rule; others may break too."""

import msgspec
from msgspec.structs import replace

from tests.faults.history.history_change import HistoryChange
from tests.faults.history.records import AppendFailed, OutcomeUnknown

LATER_NS = 10**9


def lost_tail(change: HistoryChange) -> None:
    place = change.pick(change.acknowledged()).answer.places[0]
    del change.lines[place.position - 1 :]


def altered_line(change: HistoryChange) -> None:
    place = change.pick(change.acknowledged()).answer.places[-1]
    data: dict[str, object] = msgspec.json.decode(change.log.lines[place.position].data)
    change.put(place.position, change.edit(place.position, data=data | {"altered": True}))


def altered_answer(change: HistoryChange) -> None:
    call = change.pick(change.acknowledged())
    change.place(call, version=call.answer.places[0].version + 1)


def refused_and_there(change: HistoryChange) -> None:
    answer = change.pick(change.once()).answer
    change.answer(answer, AppendFailed, error="LedgerBusy")


def invented_line(change: HistoryChange) -> None:
    end = len(change.lines)
    line = change.edit(end, id="nobody's", subject="decision/nobody's", position=end + 1, streamversion=1)
    change.lines.append((end + 1, line))


def reordered(change: HistoryChange) -> None:
    """An append takes place after all others, and its position is before theirs."""
    newest = len(change.lines)
    call = change.pick([one for one in change.once() if one.answer.places[-1].position < newest - 100])
    later = change.records[-1].at_ns + LATER_NS
    change.change(call.invoked, replace(call.invoked, at_ns=later))
    change.change(call.answer, replace(call.answer, at_ns=later + 1))


def acknowledged_elsewhere(change: HistoryChange) -> None:
    """An append is answered with the position of another event."""
    call = change.pick(change.once())
    change.place(call, position=call.answer.places[-1].position % len(change.lines) + 1)


def missing_answer(change: HistoryChange) -> None:
    """A batch is answered with one place too few."""
    call = change.pick(change.batches())
    change.change(call.answer, replace(call.answer, places=call.answer.places[:-1]))


def baseless_conflict(change: HistoryChange) -> None:
    _, answer = change.pick(change.conflicts())
    change.change(answer, replace(answer, found=1_000))


def conflict_with_the_expected(change: HistoryChange) -> None:
    _, answer = change.pick(change.conflicts())
    change.change(answer, replace(answer, found=answer.expected))


def conflict_with_the_past(change: HistoryChange) -> None:
    """A conflict states version 0 of a stream of which more was known."""
    known = change.timeline.known_before
    conflicts = [
        (call, answer)
        for call, answer in change.conflicts()
        if answer.index == 0 and answer.expected and known(call.invoked.at_ns) >= change.log.streams[answer.subject][0]
    ]
    _, answer = change.pick(conflicts)
    change.change(answer, replace(answer, found=0))


def conflict_with_the_future(change: HistoryChange) -> None:
    """A conflict states the last version of a stream, which was posted later."""
    possible, streams = change.timeline.possible_from, change.log.streams
    conflicts = [
        answer
        for _, answer in change.conflicts()
        if answer.index == 0 and possible(streams[answer.subject][-1]) > answer.at_ns
    ]
    answer = change.pick(conflicts)
    change.change(answer, replace(answer, found=len(streams[answer.subject])))


def two_winners(change: HistoryChange) -> None:
    call = change.pick(change.expecting())
    event = replace(call.invoked.events[0], id="twin")
    change.records.append(replace(call.invoked, process="twin", events=[event]))
    change.records.append(replace(call.answer, process="twin"))


def wrong_version(change: HistoryChange) -> None:
    """An event that expected a version has another one, and its outcome was unknown."""
    call = change.pick([one for one in change.once() if one in change.expecting()])
    event = call.invoked.events[0]
    change.change(call.invoked, replace(call.invoked, events=[replace(event, expected=(event.expected or 0) + 1)]))
    change.answer(call.answer, OutcomeUnknown, error="lost")


def won_elsewhere(change: HistoryChange) -> None:
    """An event is acknowledged at another version than the next after the expected one."""
    invoked = change.pick(change.expecting()).invoked
    event = invoked.events[0]
    change.change(invoked, replace(invoked, events=[replace(event, expected=(event.expected or 0) + 1_000)]))


def duplicated_line(change: HistoryChange) -> None:
    place, end = change.pick(change.acknowledged()).answer.places[0], len(change.lines)
    version = len(change.log.streams[place.subject]) + 1
    change.lines.append((end + 1, change.edit(place.position, position=end + 1, streamversion=version)))


def retry_elsewhere(change: HistoryChange) -> None:
    call = change.pick(change.acknowledged(duplicate=True))
    change.place(call, position=call.answer.places[0].position + 1)


def new_again(change: HistoryChange) -> None:
    change.place(change.pick(change.acknowledged(duplicate=True)), duplicate=False)


def first_as_duplicate(change: HistoryChange) -> None:
    change.place(change.pick(change.once()), duplicate=True)


def refused_retry(change: HistoryChange) -> None:
    answer = change.pick(change.acknowledged(duplicate=True)).answer
    facts = {"process": answer.process, "call": answer.call, "at_ns": answer.at_ns}
    change.change(
        answer, msgspec.convert({"kind": "append failed", "error": "LifecycleViolation", **facts}, AppendFailed)
    )


def baseless_identity(change: HistoryChange) -> None:
    """The conflict of an id names a position that has another id."""
    answers = [call.answer for call in change.history.appends if isinstance(call.answer, AppendFailed)]
    answer = change.pick([one for one in answers if one.error == "IdentityConflict"])
    change.change(answer, replace(answer, position=(answer.position or 0) % len(change.lines) + 1))


def new_though_known(change: HistoryChange) -> None:
    """The first answer was lost, and a retry is answered as new after others have read the event."""
    known = change.timeline.known_before
    retries = change.acknowledged(duplicate=True)
    retry = change.pick([one for one in retries if one.answer.places[-1].position < known(one.invoked.at_ns)])
    key = retry.invoked.events[0].key
    (first,) = (call for call in change.acknowledged() if call.invoked.events[0].key == key)
    change.answer(first.answer, OutcomeUnknown, error="lost")
    change.place(retry, duplicate=False)


def gap(change: HistoryChange) -> None:
    del change.lines[change.rng.randrange(len(change.lines) - 1)]


def gap_before_the_last(change: HistoryChange) -> None:
    """No line has a position, and no stream lacks an event."""
    end = len(change.lines)
    change.lines[-1] = end + 1, change.edit(end, position=end + 1)


def version_gap(change: HistoryChange) -> None:
    position = change.rng.randrange(1, len(change.lines) + 1)
    change.put(position, change.edit(position, streamversion=change.log.lines[position].streamversion + 1))


def earlier_time(change: HistoryChange) -> None:
    position = change.rng.randrange(2, len(change.lines) + 1)
    change.put(position, change.edit(position, recordedtime="2000-01-01T00:00:00.000000Z"))


def misplaced_line(change: HistoryChange) -> None:
    position = change.rng.randrange(1, len(change.lines) + 1)
    change.put(position, change.edit(position, position=position + 1))


def unreadable_line(change: HistoryChange) -> None:
    position = change.rng.randrange(1, len(change.lines) + 1)
    change.put(position, change.lines[position - 1][1][:-1])


def line_twice(change: HistoryChange) -> None:
    change.lines.append(change.lines[-1])


def torn_batch(change: HistoryChange) -> None:
    places = change.pick(change.batches()).answer.places
    del change.lines[places[change.rng.randrange(1, len(places))].position - 1 :]


def split_batch(change: HistoryChange) -> None:
    """Two lines of a batch are in the other order."""
    places = change.pick(change.batches()).answer.places
    one, other = (place.position for place in change.rng.sample(places, 2))
    line, other_line = change.edit(other, position=one), change.edit(one, position=other)
    change.put(one, line)
    change.put(other, other_line)


def scattered_answer(change: HistoryChange) -> None:
    """A batch is answered with its places in the other order."""
    call = change.pick(change.batches())
    change.change(call.answer, replace(call.answer, places=call.answer.places[::-1]))


def half_a_duplicate(change: HistoryChange) -> None:
    change.place(change.pick(change.batches()), duplicate=True)


def unnamed_error(change: HistoryChange) -> None:
    answer = change.pick(change.acknowledged()).answer
    change.answer(answer, OutcomeUnknown, error="InternalClientError()", unexpected=True)
