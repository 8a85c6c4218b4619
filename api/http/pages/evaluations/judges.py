"""The report on judges: how well their verdicts agree with the labels of people."""

from api.http.pages.content import Content, address_of
from api.http.pages.page import page, query_of
from api.http.request import Call
from api.reports.judge_text import difference_text, figure_lines, heading, share_text
from api.service.evaluation.judge_queries import get_judges
from projections.evaluation.query_params import JudgeQuery

PATH = "/ui/evaluations/judges"


@page("evaluations/judges", query=query_of(JudgeQuery), heavy=True)
async def show_judges(call: Call) -> Content:
    """Show the report on each judge."""
    report = await get_judges(await call.view(), call.asked(JudgeQuery))
    functions = (difference_text, figure_lines, heading, share_text)
    variables = {"report": report, **{function.__name__: function for function in functions}}
    return Content("Judges", variables, address_of("/judges", call.parameters))
