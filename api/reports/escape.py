"""Escape untrusted texts for reports: nothing in them is executed, and no character is hidden.

Answers, patterns, names and command output come from agents, commands and scenarios. A character that moves the
cursor, changes the writing direction or is invisible is replaced by its code; the syntax of each format is escaped.
"""

import html
import re

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e007f\ud800-\udfff]"
)
_BREAKS = re.compile(r"[\n\t]+")
_BAR = re.compile(r"(\\*)\|")
_TICKS = re.compile("`+")

ELLIPSIS = "\u2026"

SPACE, DELETE = 0x20, 0x7F
CONTROL_PICTURES, DELETE_PICTURE = 0x2400, "\u2421"
"""Unicode's visible symbols for control characters: the first one, and that for DELETE."""


def visible(text: str) -> str:
    """Replace control and format characters by visible codes; line feeds and tabs stay."""
    return _INVISIBLE.sub(_visible_code, text.replace("\r\n", "\n"))


def _visible_code(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < SPACE:
        return chr(CONTROL_PICTURES + code)
    return DELETE_PICTURE if code == DELETE else f"[U+{code:04X}]"


def one_line(text: str, characters_max: int | None = None) -> str:
    """Return a text on one line, with visible codes, cut to a length."""
    return cut(_BREAKS.sub(" ", visible(text)).strip(), characters_max)


def cut(text: str, characters_max: int | None) -> str:
    """Cut a text to a length, with an ellipsis as its last character."""
    return text if characters_max is None or len(text) <= characters_max else text[: characters_max - 1] + ELLIPSIS


def escape_html(text: str) -> str:
    """Escape a text for HTML, also for attributes."""
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

    After a backslash, Markdown parsers disagree on whether a bar ends the cell; there a broken bar replaces it.
    """
    return _BAR.sub(lambda bar: f"{bar.group(1)}\u00a6" if bar.group(1) else "\\|", code_span(text, characters_max))


def code_block(text: str) -> str:
    """Quote a text as a Markdown code block, with its final line feed."""
    shown = visible(text).strip("\n")
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(shown)), default=0))
    return f"{fence}text\n{shown}\n{fence}\n"
