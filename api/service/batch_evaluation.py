"""Evaluate the decisions of an appended batch against the guardrails. Nothing is refused: they are in the log."""

from collections import Counter
from collections.abc import Sequence

import msgspec
from msgspec import structs

from api.principal import Principal
from api.service.guardrails.decision_check import GuardrailWarning, count_inputs, warnings_of_decision
from api.service.ledger import LedgerService
from api.service.store import AppendResult
from events.decision import DecisionRecordedV1
from events.envelope import Draft, agent_of
from events.thought import ThoughtAdopted
from ledger import AppendedEvent


class DecisionWarning(GuardrailWarning, frozen=True, kw_only=True):
    """A guardrail that fired on a decision of the batch."""

    decision_id: str
    """The decision."""


class WarnedEvent(AppendedEvent, frozen=True, kw_only=True):
    """The position of an event that recorded a decision, and the guardrails that fired on it."""

    guardrail_warnings: list[DecisionWarning]


class WarnedResult(AppendResult, frozen=True, kw_only=True):
    """The result of a batch, and the guardrails that fired on its decisions."""

    guardrail_warnings: list[DecisionWarning]


async def warnings_of_batch(
    ledger: LedgerService, caller: Principal, drafts: Sequence[Draft], placed: Sequence[AppendedEvent]
) -> list[DecisionWarning]:
    """Evaluate each decision that a batch recorded, as its agent; return the rules that fired.

    Thoughts that the decision adopted in the same batch count as inputs of its deliberation.
    """
    adopted = Counter(draft.data.decision_id for draft in drafts if isinstance(draft.data, ThoughtAdopted))
    warnings: list[DecisionWarning] = []
    for draft, event in zip(drafts, placed, strict=True):
        decision = draft.data
        if not isinstance(decision, DecisionRecordedV1):
            continue
        agent = caller
        if draft.source is not None:
            agent = structs.replace(caller, agent=agent_of(draft.source), source=draft.source)
        decision_id = event.subject.removeprefix("decision/")
        inputs = count_inputs(decision) + adopted[decision_id]
        fired = await warnings_of_decision(ledger, agent, decision, decision_id, inputs=inputs)
        warnings += [DecisionWarning(decision_id=decision_id, **msgspec.structs.asdict(warning)) for warning in fired]
    return warnings


def with_warnings(
    answer: AppendedEvent | AppendResult, warnings: list[DecisionWarning]
) -> AppendedEvent | AppendResult:
    """Return the answer about a batch with the rules that fired; the answer itself if none did."""
    if not warnings:
        return answer
    kind = WarnedEvent if isinstance(answer, AppendedEvent) else WarnedResult
    return kind(**structs.asdict(answer), guardrail_warnings=warnings)
