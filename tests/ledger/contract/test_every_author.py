"""Who may append each type of event to what another agent began: the table that every new type must join."""

import pytest
from msgspec import structs

from events.envelope import source_of
from events.payload import Payload
from events.registry import VOCABULARY
from events.vocabulary import EventType
from ledger.errors import ForeignStream
from ledger.log import Log, Permissions
from tests.events.samples import SAMPLES
from tests.ledger.contract.conftest import Ledgers
from tests.support.event_loop import run

OWNERS = {
    "decision.amended.v1", "decision.thought.v1", "decision.asked.v1", "decision.preserved.v1", "decision.embedded.v1",
    "decision.retracted.v1", "decision.test_stated.v1", "decision.linked.v1", "thought.embedded.v1",
    "thought.adopted.v1",
    "discovery.attempted.v1", "discovery.signalled.v1", "discovery.finished.v1", "discovery.signalled_late.v1",
    "eval.scenario_revised.v1", "eval.scored.v1", "eval.scored.v2", "eval.scored.v3", "eval.finished.v1",
    "eval.reopened.v1", "attestation.recorded.v1", "session.recorded.v1",
}  # fmt: skip
"""Only the agent that made the decision, the thought, the run, the scenario or the session that the event is about."""

ANYONE = {
    "decision.reviewed.v1", "decision.reviewed.v2",  # the first time; then its reviewer
    "model.aliased.v1",  # a model belongs to nobody
    "wrapper.declared.v1", "wrapper.withdrawn.v1",  # a name of the list of hosts
    "eval.labelled.v1",  # people label answers of any run; a token's policy says who
    "evidence.erased.v1", "guardrail.set.v1", "guardrail.retired.v1",  # the service asks for the scope admin
}  # fmt: skip
"""Any agent, in a stream that another one began."""

AGENT = Permissions(as_owner=False, as_first=False)


def named(kind: EventType, payload: Payload, name: str) -> Payload:
    """A payload in a stream, about a decision or a run, of a name."""
    fields = {kind.id_field: name} if kind.linked is None else {kind.id_field: name, kind.linked[1]: name}
    return structs.replace(payload, **fields)


def before(kind: EventType) -> list[str]:
    """The types of the events that must be in the log before one of a type: of its stream, and of the linked one."""
    opened = [kind.linked[0]] if kind.linked is not None else []
    needed = [f"{stream}.recorded.v1" if stream == "decision" else f"{stream}.started.v1" for stream in opened]
    if kind.begins:
        return needed
    opens = next(each for each in VOCABULARY.event_types.values() if each.stream == kind.stream and each.begins)
    closes = [each for each in VOCABULARY.event_types.values() if each.stream == kind.stream and each.ends]
    return [*needed, opens.name, *([closes[0].name] if kind.reopens else [])]


async def append(log: Log, name: str, agent: str) -> None:
    kind = VOCABULARY.event_types[name]
    payload = named(kind, SAMPLES[name], "x1" if kind.id_field != "digest" else "0" * 64)
    await log.append([VOCABULARY.draft_of(payload, source=source_of(agent))], AGENT)


def test_every_type_that_can_follow_another_agents_event_is_in_the_table() -> None:
    types = VOCABULARY.event_types.values()
    foreign = {
        kind.name for kind in types if (kind.follows or kind.linked) and kind.name.partition(".")[0] != "webhook"
    }
    assert foreign == OWNERS | ANYONE


@pytest.mark.trial("N2")
@pytest.mark.parametrize("name", sorted(OWNERS | ANYONE))
def test_who_may_append_to_what_another_began(ledgers: Ledgers, name: str) -> None:
    async def scenario() -> None:
        async with ledgers.open() as log:
            for earlier in before(VOCABULARY.event_types[name]):
                await append(log, earlier, "bob")
            if VOCABULARY.event_types[name].begins and VOCABULARY.event_types[name].linked is None:
                await append(log, name, "bob")
            if name in OWNERS:
                with pytest.raises(ForeignStream):
                    await append(log, name, "alice")
                await append(log, name, "bob")
            else:
                await append(log, name, "alice")

    run(scenario())
