"""The report on judges: how well their verdicts agree with the labels of people."""

from api.http.pages.content import Content
from api.http.pages.page import Page, address_of
from api.http.request import Call
from api.reports.judge_text import difference_text, figure_lines, heading, share_text
from api.service.evaluation.judge_queries import report_on_judges
from api.service.judge_params import JUDGES_PARAMETERS, parse_judge_query

PATH = "/ui/evaluations/judges"


@Page(path=PATH, template="evaluations/judges", section="evaluations", query=JUDGES_PARAMETERS, heavy=True)
async def show_judges(call: Call) -> Content:
    """Show the report on each judge."""
    report = await report_on_judges(await call.view(), parse_judge_query(call.parameters))
    functions = (difference_text, figure_lines, heading, share_text)
    variables = {"report": report, **{function.__name__: function for function in functions}}
    return Content("Judges", variables, address_of("/judges", call.parameters))
