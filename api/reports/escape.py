"""Make texts of others safe to show: nothing in them is executed, and nothing is hidden.

Answers, patterns, names and command output come from agents, commands and scenarios. A character that would move the
cursor, change the writing direction or be invisible is shown as its code; the syntax of each format is escaped.
"""

import html
import re

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e007f\ud800-\udfff]"
)
_BREAKS = re.compile(r"[\n\t]+")
_PIPED = re.compile(r"(\\*)\|")
_TICKS = re.compile("`+")

ELLIPSIS = "\u2026"


def visible(text: str) -> str:
    """Replace control and format characters by visible codes; line feeds and tabs stay."""
    return _UNSEEN.sub(_shown, text.replace("\r\n", "\n"))


def _shown(found: re.Match[str]) -> str:
    code_span = ord(found.group())
    if code_span < 0x20:
        return chr(0x2400 + code_span)
    return "\u2421" if code_span == 0x7F else f"[U+{code_span:04X}]"


def one_line(text: str, characters_max: int | None = None) -> str:
    """Put a text on one line, visible, cut to a length."""
    return cut(_BREAKS.sub(" ", visible(text)).strip(), characters_max)


def cut(text: str, characters_max: int | None) -> str:
    """Cut a text to a length; an ellipsis replaces the rest."""
    return text if characters_max is None or len(text) <= characters_max else text[: characters_max - 1] + ELLIPSIS


def escape_html(text: str) -> str:
    """Escape a text for HTML, also within an attribute."""
    return html.escape(visible(text), quote=True)


def code_span(text: str, characters_max: int | None = None) -> str:
    """Quote a text as a Markdown code span, in which no mention, link or markup has an effect."""
    shown = one_line(text, characters_max) or " "
    if shown[0] in " `" or shown[-1] in " `":
        shown = f" {shown} "
    fence = "`" * (1 + max((len(run) for run in _TICKS.findall(shown)), default=0))
    return fence + shown + fence


def code_cell(text: str, characters_max: int | None = None) -> str:
    """Quote a text as a code span in a Markdown table, where a vertical bar would end the cell.

    After a backslash, Markdown parsers disagree on what ends a cell, so a broken bar replaces the bar there.
    """
    return _PIPED.sub(lambda bar: f"{bar.group(1)}\u00a6" if bar.group(1) else "\\|", code_span(text, characters_max))


def code_block(text: str) -> str:
    """Quote a text as a Markdown code block, with its final line feed."""
    shown = visible(text).strip("\n")
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(shown)), default=0))
    return f"{fence}text\n{shown}\n{fence}\n"
