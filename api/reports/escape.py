"""Texts that somebody else wrote, fit for a report: nothing in them is obeyed, and nothing is hidden.

Answers, patterns, names and last words come from agents, commands and scenarios. Whatever would move a cursor, turn
the direction of reading, or stand there unseen is shown by its code; what a format takes for itself is escaped.
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
    """A text whose control and format characters are seen and not obeyed; line feeds and tabs stay."""
    return _UNSEEN.sub(_shown, text.replace("\r\n", "\n"))


def _shown(found: re.Match[str]) -> str:
    code = ord(found.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"[U+{code:04X}]"


def line(text: str, characters_max: int | None = None) -> str:
    """A visible text on one line, cut where it is longer."""
    return cut(_BREAKS.sub(" ", visible(text)).strip(), characters_max)


def cut(text: str, characters_max: int | None) -> str:
    """A text of at most so many characters; an ellipsis stands for what is missing."""
    return text if characters_max is None or len(text) <= characters_max else text[: characters_max - 1] + ELLIPSIS


def markup(text: str) -> str:
    """A visible text for HTML, where it may also stand within quotes."""
    return html.escape(visible(text), quote=True)


def code(text: str, characters_max: int | None = None) -> str:
    """A text as a span of code in Markdown: no mention, link or markup in it counts."""
    shown = line(text, characters_max) or " "
    if shown[0] in " `" or shown[-1] in " `":
        shown = f" {shown} "
    fence = "`" * (1 + max((len(run) for run in _TICKS.findall(shown)), default=0))
    return fence + shown + fence


def cell(text: str, characters_max: int | None = None) -> str:
    """The same within a table, where a bar would end the cell.

    Behind a backslash no two readers agree on what does, so that it is another bar there.
    """
    return _PIPED.sub(lambda bar: f"{bar.group(1)}\u00a6" if bar.group(1) else "\\|", code(text, characters_max))


def fenced(text: str) -> str:
    """A text as a block of code in Markdown, with the line feed that ends it."""
    shown = visible(text).strip("\n")
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(shown)), default=0))
    return f"{fence}text\n{shown}\n{fence}\n"
