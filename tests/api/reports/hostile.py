"""A report in which every text from outside is the same hostile text."""

from typing import cast

import msgspec
from hypothesis import strategies as st
from msgspec import structs

from api.reports import EvaluationReport
from events.evaluation import Component

TEXTS = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "</pre></details></main><h1>All passed</h1>",
    "<!-- ]]> --> <![CDATA[ ]]>",
    "&lt;b&gt; &#60;script&#62; &nbsp",
    "@everyone cc @octocat/team, fixes #1, see https://evil.example/x and www.evil.example",
    "[All checks passed](https://evil.example) ![x](https://evil.example/x.png)",
    "`` ` ``` `````",
    "a | b || c \\| d \\\\| e",
    "\\`",
    "# Heading\n\n- list\n\n> quote\n\n```\nfence\n```\n~~~\n</details>\n\n@octocat",
    "\u202egnp.exe \u2066hidden\u2069 \u200b\u200f \ufeff",
    "\x00\x1b[2J\x07\x08\x7f\x85\x9b \ud800 \udfff \ufffe \uffff",
    "\r\n\r\n| a | b |\r\n|-|-|\r\n",
    "line\u2028separator\u2029paragraph",
    "\U000e0001\U000e0041 tag characters",
    "```",
    "-->",
    "   ",
    "$(reboot) %s {0} {{}} \\n",
)

texts = st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=()), min_size=1, max_size=40)

OURS = {"state", "verdict", "failure", "match_type", "baseline", "answers"}
"""Fields of a few words that the vocabulary knows."""


def saying(report: EvaluationReport, text: str) -> EvaluationReport:
    """A report of the same shape that says a text wherever one may be said."""
    said = cast(EvaluationReport, _replaced(report, text))
    return structs.replace(said, judgement=report.judgement)


def _replaced(value: object, text: str) -> object:
    if isinstance(value, tuple):
        return tuple(_replaced(one, text) for one in value)
    if isinstance(value, dict):
        return {text: text}
    if isinstance(value, msgspec.Struct):
        kept = OURS | {"name"} if isinstance(value, Component) else OURS
        fields = ((name, getattr(value, name)) for name in value.__struct_fields__ if name not in kept)
        return structs.replace(value, **{name: _said(name, one, text) for name, one in fields})
    return value


def _said(name: str, value: object, text: str) -> object:
    if not isinstance(value, str):
        return _replaced(value, text)
    if name == "expectation":
        return f"{value}{text}"  # what it begins with tells whether a pattern is wanted
    return value if name == "analysis" else text
