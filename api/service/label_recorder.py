"""Label an answer: a person says whether it meets a criterion, or passes as a whole.

The label of a criterion is also the review of every decision in which a judge gave a verdict on that answer: it was
right if its verdict is the label. Label and reviews are appended in one batch: all of them, or none.
"""

from msgspec import structs

from api.principal import Forbidden, Principal
from api.service.answer_label import LabelToRecord, RecordedLabel
from api.service.decision_writer import act_as
from api.service.id_prefix import resolve_id
from api.service.ledger import LedgerService
from api.service.shared_fields import shared_fields
from events.decision import DecisionRecorded, DecisionRetracted, DecisionReviewed
from events.envelope import EventFacts
from events.evaluation import EvalScored
from events.judge import AGENT_PREFIX, EvalLabelled
from events.registry import VOCABULARY
from instruments.evals.judging.label_ids import label_id_of
from ledger.errors import InvalidQuery, NotFound
from projections.evaluation.evaluation_index import EvaluationIndex
from projections.evaluation.judge_index import JudgeIndex
from tallystick.shapes.decisions import Outcome


async def label_answer(
    ledger: LedgerService,
    caller: Principal,
    label: LabelToRecord,
    *,
    event_id: str | None = None,
    source: str | None = None,
    prefix: bool = False,
) -> RecordedLabel:
    """Record a label, and the reviews that follow from it. A later label of the answer replaces it.

    A decision whose latest review says the same already is not reviewed again. With `prefix`, the run may be named by a
    unique beginning of its id. The same label with the same `event_id` is a retry.
    Errors: NotFound, for an unknown run, scenario or attempt; InvalidQuery, for an unknown criterion; Forbidden and
    ForeignStream, if the caller is a judge, or may not review or replace the review of another; and those of
    `LedgerService.record`.
    Nothing was written.
    """
    caller.require("read")
    agent = act_as(caller, source)
    if agent.agent.startswith(AGENT_PREFIX):
        raise Forbidden(
            f"{agent.agent} is a judge: judges are checked against labels, and give none.",
            "Label as a person: with that person's token, or --by NAME.",
        )
    evaluations, position = await ledger.at(EvaluationIndex, also=(JudgeIndex,))
    run_id = resolve_id(evaluations, label.run_id, "evaluation", prefix=prefix)
    judging = await ledger.beside(JudgeIndex)
    score = await _find_score(ledger, run_id, label, position)
    digest = score.analysis_digest
    assert digest is not None, "an attempt without an answer was refused"
    labelled = EvalLabelled(
        **{**structs.asdict(label), "run_id": run_id},
        label_id=label_id_of(label.scenario_id, digest, label.criterion),
        analysis_digest=digest,
    )
    runs = judging.runs_with(label.scenario_id, digest)
    reviews = await _reviews(ledger, labelled, runs, position)
    now = ledger.clock()
    drafts = [VOCABULARY.draft_of(labelled, id=event_id, time=now)]
    drafts += [VOCABULARY.draft_of(review, time=now) for review in reviews]
    placed = (await ledger.record(drafts, agent))[0]
    return RecordedLabel(
        **shared_fields(labelled, RecordedLabel),
        reviews=len(reviews),
        position=placed.position,
        event_id=placed.id,
        time=VOCABULARY.event(await ledger.event(placed.position)).moment if placed.duplicate else now,
        duplicate=placed.duplicate,
    )


async def _find_score(ledger: LedgerService, run_id: str, label: LabelToRecord, position: int) -> EvalScored:
    """Return the latest score of an attempt with an answer. Errors: NotFound, InvalidQuery."""
    scores = [score for score in await _scores(ledger, run_id, position) if score.scenario_id == label.scenario_id]
    if not scores:
        raise NotFound(f"{label.scenario_id} is not in {run_id}.", f"See tallystick eval show {run_id}.", written=False)
    found = next((score for score in reversed(scores) if score.attempt == label.attempt), None)
    if found is None or found.analysis_digest is None:
        numbers = sorted({score.attempt for score in scores if score.analysis_digest is not None})
        have = ", ".join(map(str, numbers[:20])) or "none"
        raise NotFound(
            f"Attempt {label.attempt} at {label.scenario_id} has no answer in {run_id}.",
            f"Attempts with an answer: {have}.",
            written=False,
        )
    names = [component.name for component in found.components if component.applicable]
    if label.criterion is not None and label.criterion not in names:
        raise InvalidQuery(
            "criterion",
            f"This score has no criterion {label.criterion}.",
            f"Its criteria: {', '.join(names) or 'none'}. Leave it out to label the answer as a whole.",
            written=False,
        )
    return found


async def _reviews(
    ledger: LedgerService, label: EvalLabelled, runs: list[str], position: int
) -> list[DecisionReviewed]:
    """Return the reviews of the decisions with a verdict on the answer and criterion of a label."""
    verdicts = {
        component.verdict.decision_id: component.verdict.passed
        for run_id in runs
        for score in await _scores(ledger, run_id, position)
        if (score.scenario_id, score.analysis_digest) == (label.scenario_id, label.analysis_digest)
        for component in score.components
        if component.verdict is not None and component.name == label.criterion
    }
    subjects = [f"decision/{decision_id}" for decision_id in verdicts]
    streams = await ledger.engine.events.read_streams(subjects, position) if subjects else {}
    reviews = []
    for decision_id, passed in verdicts.items():
        outcome: Outcome = "success" if passed == label.passed else "failure"
        if _needs_review(streams[f"decision/{decision_id}"], outcome):
            result = f"A person labelled the answer: {'pass' if label.passed else 'fail'}"
            reviews.append(
                DecisionReviewed(decision_id=decision_id, outcome=outcome, actual_result=result, notes=label.note)
            )
    return reviews


def _needs_review(events: list[EventFacts], outcome: Outcome) -> bool:
    """Tell whether a decision is in the log, is not retracted, and has no latest review with this outcome."""
    data = [event.data for event in events]
    if not data or not isinstance(data[0], DecisionRecorded) or isinstance(data[-1], DecisionRetracted):
        return False
    latest = next((each.outcome for each in reversed(data) if isinstance(each, DecisionReviewed)), None)
    return latest != outcome


async def _scores(ledger: LedgerService, run_id: str, position: int) -> list[EvalScored]:
    subject = f"evaluation/{run_id}"
    events = (await ledger.engine.events.read_streams([subject], position))[subject]
    return [event.data for event in events if isinstance(event.data, EvalScored)]
