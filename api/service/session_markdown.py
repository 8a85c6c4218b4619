"""Format the context of a session as Markdown, for an agent's prompt."""

from functools import cache
from typing import TYPE_CHECKING

from api.service.agent_context import SessionContext

if TYPE_CHECKING:
    from jinja2 import Template

TITLE_CHARS_MAX = 50


def markdown(context: SessionContext, agent: str | None) -> str:
    """Return a section for each part of the context that is not empty."""
    return _template().render(context=context, agent=agent, title_chars_max=TITLE_CHARS_MAX)


@cache
def _template() -> "Template":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only this form of the context

    environment = Environment(
        loader=PackageLoader(__package__, ""),
        autoescape=False,  # noqa: S701 - Markdown
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"line": _line, "percent": _percent, "score": _score}
    return environment.get_template("session.md.j2")


def _score(value: float | None) -> float:
    return round(value or 0.0, 3) + 0.0


def _percent(share: float | None) -> str:
    return f"{_score(share):.0%}"


def _line(text: str | None) -> str:
    """Put a text on one line, so that it cannot end its list or section."""
    return " ".join((text or "").split())
