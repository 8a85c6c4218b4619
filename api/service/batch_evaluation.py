"""What an answer says about the decisions of an appended batch: guardrails that fired, and thoughts that wait."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import structs

from api.principal import Principal
from api.service.decision_thoughts import count_pending
from api.service.guardrails.decision_check import count_inputs, warnings_of_decision
from api.service.ledger import LedgerService
from events.decision import DecisionRecordedV1
from events.envelope import Draft, agent_of
from events.thought import ThoughtAdopted
from tallystick.shapes.appended import AppendedEvent, AppendResult, DecisionWarning, RemarkedEvent, RemarkedResult


class Remarks(NamedTuple):
    """What is noticeable about the decisions of a batch: the fields that an answer has besides."""

    guardrail_warnings: tuple[DecisionWarning, ...]
    thoughts_pending: int


async def remarks_on_batch(
    ledger: LedgerService, caller: Principal, drafts: Sequence[Draft], placed: Sequence[AppendedEvent]
) -> Remarks:
    """Evaluate each decision that a batch recorded, as its agent, and count the agents' pending thoughts.

    Nothing is refused: the decisions are in the log. Thoughts that a decision adopted in the same batch count as inputs
    of its deliberation.
    """
    adopted = Counter(draft.data.decision_id for draft in drafts if isinstance(draft.data, ThoughtAdopted))
    warnings: list[DecisionWarning] = []
    sources: set[str] = set()
    for draft, event in zip(drafts, placed, strict=True):
        decision = draft.data
        if not isinstance(decision, DecisionRecordedV1):
            continue
        agent = caller
        if draft.source is not None:
            agent = structs.replace(caller, agent=agent_of(draft.source), source=draft.source)
        sources.add(agent.source)
        decision_id = event.subject.removeprefix("decision/")
        inputs = count_inputs(decision) + adopted[decision_id]
        fired = await warnings_of_decision(ledger, agent, decision, decision_id, inputs=inputs)
        warnings += [DecisionWarning(decision_id=decision_id, **structs.asdict(warning)) for warning in fired]
    waiting = await count_pending(ledger, sources) if sources else 0
    return Remarks(tuple(warnings), waiting)


def with_remarks(answer: AppendedEvent | AppendResult, remarks: Remarks) -> AppendedEvent | AppendResult:
    """Return the answer about a batch with the remarks on it; the answer itself if there are none."""
    stated = {name: value for name, value in remarks._asdict().items() if value}
    if not stated:
        return answer
    kind = RemarkedEvent if isinstance(answer, AppendedEvent) else RemarkedResult
    return kind(**structs.asdict(answer), **stated)
