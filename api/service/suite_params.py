"""Query parameters of suite versions. A module of its own, because suites load what reads scenarios."""

from collections.abc import Mapping

from api.service.decision_params import parse_texts
from api.service.evaluation.suite_queries import SuiteVersionQuery
from api.service.event_params import AS_OF, LIMIT, OFFSET, Parameters
from api.service.run_params import SUITE

SUITES_PARAMETERS: Parameters = (SUITE, LIMIT, OFFSET, AS_OF)


def parse_suite_query(parameters: Mapping[str, str]) -> SuiteVersionQuery:
    """Return the query for a list of suite versions. Errors: InvalidQuery."""
    return SuiteVersionQuery(
        **parse_texts((SUITE,), parameters), limit=LIMIT.read(parameters), offset=OFFSET.read(parameters)
    )
