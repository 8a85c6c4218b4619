"""Queries of judges: the report on them, the labels of answers, and the answers that have none yet."""

import msgspec
from msgspec import UNSET, structs

from api.service.evaluation.queries import find_scenario_result
from api.service.evaluation.scenario_queries import ScenarioOfRun, show_scenario_of_run
from api.service.ledger import LedgerService, View
from api.service.operation import operation
from api.service.unknown_names import UnknownNames, find_unknown_names
from instruments.evals.judging.label_ids import label_id_of
from ledger.threads import run_on_thread
from projections.evaluation.judge_index import WHOLE, JudgedScore, JudgeIndex, JudgingRecords, records_of
from projections.evaluation.judge_report import build_judging_report
from projections.evaluation.judge_view_types import JudgingReport
from projections.evaluation.query_params import JudgeQuery, QueueQuery
from projections.evaluation.view_types import ScoreRow
from projections.evidence_index import EvidenceIndex
from tallystick.shapes.parts import AsOf


class JudgingReportAnswer(JudgingReport, frozen=True, kw_only=True):
    """The report on judges, with its position and time."""

    as_of: AsOf
    unknown_names: UnknownNames = UNSET


class UnlabelledAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer whose `criteria` have verdicts of judges, and no label yet."""

    run_id: str
    scenario_id: str
    attempt: int
    analysis_digest: str
    criteria: tuple[str, ...]


class UnlabelledPage(msgspec.Struct, frozen=True, kw_only=True):
    """Answers to label, in an order that depends on neither verdicts nor time. `labelled` answers have every label.

    `next` is the offset of the next page, None on the last.
    """

    answers: list[UnlabelledAnswer]
    total: int
    labelled: int
    next: int | None
    as_of: AsOf
    unknown_names: UnknownNames = UNSET


class AnswerToLabel(msgspec.Struct, frozen=True, kw_only=True):
    """An answer to label, its score with the text of the answer, and its run with that scenario."""

    answer: UnlabelledAnswer
    found: ScenarioOfRun
    row: ScoreRow


@operation("/judges", "judges", heavy=True)
async def get_judges(view: View, params: JudgeQuery) -> JudgingReportAnswer:
    """Report how well judges agree with the labels of people, and correct pass rates for their errors."""
    evidence, _ = await view.at(EvidenceIndex, also=(JudgeIndex,))
    projection, position = await view.at(JudgeIndex)
    records, names = projection.records(), projection.names()
    stored = {score.answer: evidence.size_bytes(score.answer) for score in records.scores if score.length < 0}
    sizes = {digest: size for digest, size in stored.items() if size is not None}
    report = await run_on_thread(build_judging_report, records, params, sizes)
    unknown = find_unknown_names({"judge": params.judge, "suite": params.suite}, names)
    return JudgingReportAnswer(
        judges=report.judges,
        orders=report.orders,
        as_of=await view.dated(position),
        unknown_names=UNSET if report.judges or report.orders else unknown,
    )


@operation("/labels/queue", "judges", heavy=True)
async def get_label_queue(view: View, params: QueueQuery) -> UnlabelledPage:
    """List the judged answers that lack a label of a criterion, in an order that does not depend on verdicts."""
    projection, position = await view.at(JudgeIndex)
    state, names = projection.encode(), projection.names()
    records = await run_on_thread(records_of, state)
    judged, waiting = await run_on_thread(_find_unlabelled, records, params)
    listed = waiting[params.offset : params.offset + params.limit]
    after = params.offset + len(listed)
    unknown = find_unknown_names({"judge": params.judge, "suite": params.suite}, names)
    return UnlabelledPage(
        answers=listed,
        total=len(waiting),
        labelled=judged - len(waiting),
        next=after if after < len(waiting) else None,
        as_of=await view.dated(position),
        unknown_names=UNSET if judged else unknown,
    )


async def show_next_answer(ledger: LedgerService, query: QueueQuery) -> tuple[AnswerToLabel | None, UnlabelledPage]:
    """Return the first answer of a page of the queue with its text, None without one, and the page."""
    page = await get_label_queue(ledger, structs.replace(query, limit=1))
    if not page.answers:
        return None, page
    answer = page.answers[0]
    return await show_answer(ledger, answer), page


async def show_answer(ledger: LedgerService, answer: UnlabelledAnswer) -> AnswerToLabel:
    """Return an answer to label with its text. Errors: NotFound."""
    found = await show_scenario_of_run(ledger, answer.run_id, answer.scenario_id)
    rows = find_scenario_result(found.run, answer.scenario_id).rows
    return AnswerToLabel(answer=answer, found=found, row=next(row for row in rows if row.attempt == answer.attempt))


def _find_unlabelled(records: JudgingRecords, query: QueueQuery) -> tuple[int, list[UnlabelledAnswer]]:
    """Return how many answers were judged, and those that lack a label, sorted by the ids of their labels."""
    scores: dict[tuple[str, str], JudgedScore] = {}
    criteria: dict[tuple[str, str], dict[str, None]] = {}
    for score in records.scores:
        if query.judge in (None, score.judge.agent) and query.suite in (None, score.subject.suite):
            key = score.scenario, score.answer
            scores[key] = score
            criteria.setdefault(key, {}).update(dict.fromkeys(verdict.criterion for verdict in score.verdicts))
    waiting: list[UnlabelledAnswer] = []
    for key, score in scores.items():
        missing = tuple(name for name in criteria[key] if (*key, name) not in records.labels)
        if missing or (not criteria[key] and (*key, WHOLE) not in records.labels):
            waiting.append(
                UnlabelledAnswer(
                    run_id=score.run,
                    scenario_id=score.scenario,
                    attempt=score.attempt,
                    analysis_digest=score.answer,
                    criteria=missing,
                )
            )
    return len(scores), sorted(waiting, key=lambda each: label_id_of(each.scenario_id, each.analysis_digest, None))
