"""The pass rates of a scoreboard whose scorer is a judge, corrected for the judge's errors."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import structs

from projections.evaluation.judge_index import JudgedScore, JudgeKey, JudgingRecords, ScenarioDigests
from projections.evaluation.judge_report import JudgedAnswer, correct_pass_rate, distinct, whole_answer
from projections.evaluation.judge_view_types import CorrectedPassRate
from projections.evaluation.view_types import Scoreboard, ScoreboardRow, SuiteScoreboard

ResolveModel = Callable[[str], str | None]


def correct_rows(
    board: Scoreboard, records: JudgingRecords, agent: str | None, resolve: ResolveModel | None
) -> Scoreboard:
    """Add the corrected pass rate to each row with scores of a judge.

    `agent` is the one by which the rows of models are filtered; `resolve` is as in `build_scoreboard`.

    As in the rows, only scores by the current scorer of the suite and for the newest version of each scenario count.
    The judge's errors are known from its labelled answers in every suite.
    """
    if not records.scores:
        return board
    calibration: dict[JudgeKey, list[JudgedAnswer]] = {}
    for score in records.scores:
        calibration.setdefault(score.judge, []).append(whole_answer(score, records.labels))
    labelled = {
        key: [answer for answer in distinct(answers) if answer.label is not None]
        for key, answers in calibration.items()
    }
    suites = [
        structs.replace(
            suite, rows=tuple(_correct(row, scores, records, labelled, agent, resolve) for row in suite.rows)
        )
        if (scores := _current(suite, records.scores))
        else suite
        for suite in board.suites
    ]
    return Scoreboard(suites=tuple(suites))


def _current(suite: SuiteScoreboard, scores: Sequence[JudgedScore]) -> list[JudgedScore]:
    """Return the scores of a suite by its current scorer, for the newest version of each scenario."""
    own = [score for score in scores if score.subject.suite == suite.suite]
    newest: dict[str, ScenarioDigests] = {}
    for score in own:
        known = newest.get(score.scenario, ScenarioDigests(None, None))
        newest[score.scenario] = ScenarioDigests(*(new or old for new, old in zip(score.version, known, strict=True)))
    return [
        score
        for score in own
        if score.subject.scorer_id in (None, suite.scorer_id)
        and score.subject.scorer_version in (None, suite.scorer_version)
        and all(stated in (None, now) for stated, now in zip(score.version, newest[score.scenario], strict=True))
    ]


def _correct(
    row: ScoreboardRow,
    scores: Sequence[JudgedScore],
    records: JudgingRecords,
    labelled: Mapping[JudgeKey, Sequence[JudgedAnswer]],
    agent: str | None,
    resolve: ResolveModel | None,
) -> ScoreboardRow:
    own = [score for score in scores if _is_of(row, score, agent, resolve)]
    if not own:
        return row
    keys = dict.fromkeys(score.judge for score in own)
    answers = [whole_answer(score, records.labels) for score in own]
    calibration = [answer for key in keys for answer in labelled[key]]
    corrected: CorrectedPassRate = correct_pass_rate(answers, calibration)
    return structs.replace(row, corrected=corrected)


def _is_of(row: ScoreboardRow, score: JudgedScore, agent: str | None, resolve: ResolveModel | None) -> bool:
    subject = score.subject
    if subject.baseline != row.baseline:
        return False
    if resolve is not None and row.baseline is None:
        return agent in (None, subject.agent) and row.model == (
            None if subject.model is None else resolve(subject.model)
        )
    return (subject.agent, subject.agent_version) == (row.agent, row.agent_version)
