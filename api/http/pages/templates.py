"""Render the templates of the pages.

Templates escape every text (Jinja2 autoescape), after `visible` has replaced control and format characters with visible
codes, as in the evaluation report. Templates of the report and of the pages share macros and filters.

`glossary.md` is the page of the manual, too. Each term is an item of a list, `- **term**: explanation`; terms that
share an explanation are separated by commas.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from api.reports import format as formats
from api.reports.escape import cut, one_line, visible
from api.reports.html.report_page import TEMPLATE_NAMES
from api.text_format import format_figure, format_interval, format_time, pluralize

if TYPE_CHECKING:
    from jinja2 import Environment
import re
from importlib import resources

FILTERS = (
    formats.bracketed,
    pluralize,
    formats.gap,
    formats.gap_interval,
    formats.minute_utc,
    formats.points,
    formats.points_below,
    formats.point_interval,
    formats.rate,
    formats.rate_interval,
    formats.seconds,
    cut,
    format_figure,
    format_interval,
    format_time,
    one_line,
)

_item = re.compile(r"^- \*\*(?P<terms>[^*]+)\*\*(?P<of>[^:]*): (?P<text>.+(?:\n  .+)*)", re.MULTILINE)
_markup = re.compile(r"[`*]|\[([^\]]+)\]\([^)]*\)")


def render(template: str, variables: Mapping[str, object]) -> str:
    """Render a template of `templates/`, named without `.html.j2`."""
    return environment().get_template(f"{template}.html.j2").render(variables)


@cache
def environment() -> "Environment":
    """Make the template environment. Jinja2 takes 50 ms to import, so only the first page loads it."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined  # noqa: PLC0415
    from markupsafe import Markup  # noqa: PLC0415

    made = Environment(
        loader=ChoiceLoader([PackageLoader(__package__, "templates"), PackageLoader("api.reports.html", "")]),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {function.__name__: function for function in FILTERS} | {"trusted": Markup}
    made.globals |= {"explain": explain, **TEMPLATE_NAMES}
    return made


def _finalize(value: object) -> object:
    """Make all characters of a printed text visible; leave output of templates unchanged."""
    return visible(value) if type(value) is str else value


def explain(term: str) -> str:
    """Return what a term means, in plain words. Errors: KeyError, for a term that the glossary lacks."""
    return _explanations()[term]


@cache
def _explanations() -> Mapping[str, str]:
    text = resources.files(__package__).joinpath("glossary.md").read_text("utf-8")
    found: dict[str, str] = {}
    for item in _item.finditer(text):
        plain = _markup.sub(lambda match: match[1] or "", " ".join(item["text"].split()))
        found |= {term.strip(): plain for term in item["terms"].split(",")}
    return found
