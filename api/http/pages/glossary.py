"""The glossary: one text that the pages and the manual share.

`glossary.md` is the page of the manual, too. Each term is an item of a list, `- **term**: explanation`; terms that
share an explanation are separated by commas.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

_item = re.compile(r"^- \*\*(?P<terms>[^*]+)\*\*(?P<of>[^:]*): (?P<text>.+(?:\n  .+)*)", re.MULTILINE)
_markup = re.compile(r"[`*]|\[([^\]]+)\]\([^)]*\)")


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
