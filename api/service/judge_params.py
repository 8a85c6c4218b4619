"""Query parameters of the report on judges, and of the queue of answers to label."""

from collections.abc import Mapping

from api.parameters import text_parameter
from api.service.decision_params import parse_texts
from api.service.evaluation.judge_queries import QueueQuery
from api.service.event_params import AS_OF, LIMIT, OFFSET, Parameters
from projections.evaluation.judge_report import JudgeQuery

JUDGE = text_parameter("judge", "One judge, by its name as an agent.")
JUDGED_SUITE = text_parameter("suite", "Answers of one suite, by its name.")
JUDGES_PARAMETERS: Parameters = (JUDGE, JUDGED_SUITE, AS_OF)
QUEUE_PARAMETERS: Parameters = (JUDGE, JUDGED_SUITE, LIMIT, OFFSET, AS_OF)


def parse_judge_query(parameters: Mapping[str, str]) -> JudgeQuery:
    """Return the query for the report on judges. Errors: InvalidQuery."""
    return JudgeQuery(**parse_texts((JUDGE, JUDGED_SUITE), parameters))


def parse_queue_query(parameters: Mapping[str, str]) -> QueueQuery:
    """Return the query for the queue of answers to label. Errors: InvalidQuery."""
    texts = parse_texts((JUDGE, JUDGED_SUITE), parameters)
    return QueueQuery(**texts, limit=LIMIT.read(parameters), offset=OFFSET.read(parameters))
