"""Recognize a text that lists explanations without choosing one: "three candidates fit", "any of these", questions.

`mention_credit.py` counts alternatives within a clause. Here they are the items or the sentences of a whole text. A
list counts only if the text announces it as one of alternatives, since numbers stand before steps and events as well,
and only if the text chooses none of them ("two were ruled out", "only the first fits").
"""

import re

from instruments.evals.scoring.mention_context import SENTENCE_END

ALTERNATIVES_MAX = 20
"""The most alternatives that are counted."""

TEXT_CHARS_MAX = 2_000
"""Characters on each side of a match that are read."""

_NUMBERS = {
    word: at for at, word in enumerate(["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 2)
}
_CAUSES = r"(?:causes|reasons|culprits|faults|problems|issues|triggers|options|scenarios)"
_NOUN = (
    r"(?:explanations|candidates|possibilities|hypotheses|theories|suspects|guesses|alternatives"
    rf"|(?:possible|potential|plausible|likely|candidate|conceivable|suspected) (?:\w+ )?{_CAUSES})"
)
_COUNT = rf"(?:{'|'.join(_NUMBERS)}|[2-9]|1\d)"
_announcement = re.compile(
    rf"\b(?P<count>{_COUNT}|several|multiple|many|a few|various) (?:\w+ )?{_NOUN}\b"
    rf"|(?:\A|[.!?;\n]\s*)(?:the |my |our |all )?(?:\w+ )?{_NOUN}(?: (?:are|include))?\s*:"
    rf"|\b{_NOUN} (?:are|include)\b|\b(?:one|some|any|{_COUNT}) of the following\b"
)
"""What announces alternatives that follow."""

_summary = re.compile(
    r"\bany (?:one )?of (?:these|those|them|the above)"
    r"(?= (?:fits?|could|can|would|may|might|explains?|is)\b|\s*[.!;]|\Z)"
    r"|\b(?:one|each) of (?:these|those|them|the above) (?:fits?|explains?|is|must|may|might|could|would)\b"
    rf"|\ball (?:(?:of )?(?:these|those|them)|{_COUNT})(?: of them)? (?:fit|would|could|might|may|are (?:\w+ )?"
    r"(?:plausible|possible|likely))\b|\b(?:cannot|can't|hard to|impossible to|unable to|no way to|don't|do not) "
    rf"(?:tell|say|know|decide) which(?= (?:one|it is|of (?:these|them))\b|\s*[.;!]|\Z)"
    rf"|\b(?:are|remain) (?:all |both )?(?:{_COUNT} )?(?:\w+ )?{_NOUN}\b"
    r"|\btake your pick\b|\byou choose\b"
)
"""What says of a whole text that it lists alternatives."""

_choice = re.compile(
    r"\b(?:rul\w+ (?:\w+ )?out|exclud\w+|eliminat\w+|discard\w+|dismiss\w+|confirm\w+|turn\w* out|proved?|proven"
    r"|reject\w+|narrowed|settled|the (?:real|actual|true|root) (?:cause|culprit|reason)|only (?:one|the)|but one"
    r"|points? to|the (?:first|second|third|fourth|last|latter|former)(?: one)? (?:is|fits|holds|applies|was))\b"
)
_no_choice = re.compile(r"\b(?:none|not|neither|nothing|nobody|no one|cannot|unable|without|until|before)\b|n't\b")
_marker = re.compile(r"(?:\A|(?<=[\s(]))\(?(?:\d{1,2}|[a-h]|i{1,3}|iv|vi{0,3})[.):]\s|(?:\A|\n)\s*[-*\u2022]\s")
_item_end = re.compile(r"[,.!?](?=\s|\Z)|[;\n]")
_question = re.compile(r"\?(?=[\s\"')\]]|\Z)")


def announced_alternatives(text: str, start: int) -> int:
    """Return how many alternatives a text announces for the match at `start`; 1 if it announces none."""
    from_start = max(0, start - TEXT_CHARS_MAX)
    text, start = text[from_start : start + TEXT_CHARS_MAX], start - from_start
    text = text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    announced = next((found for found in _announcement.finditer(text) if found.end() <= start), None)
    if (announced is None and _summary.search(text) is None) or _chooses(text):
        return 1
    number = (announced["count"] or "") if announced else ""
    if number.isdecimal() or number in _NUMBERS:
        return _NUMBERS.get(number) or int(number)
    listed = text[announced.end() if announced else 0 :]
    summary = _summary.search(listed)
    if summary is not None and summary.start() > 0:
        listed = listed[: max((end.start() for end in SENTENCE_END.finditer(listed, 0, summary.start())), default=None)]
    items = len(_marker.findall(listed)) or sum(bool(part.strip()) for part in _item_end.split(listed))
    return min(ALTERNATIVES_MAX, max(2, items))


def questions_in(text: str) -> int:
    """Return how many questions a text asks."""
    return min(ALTERNATIVES_MAX, len(_question.findall(text)))


def _chooses(text: str) -> bool:
    """Whether a text chooses one of its alternatives, or excludes some."""
    for found in _choice.finditer(text):
        sentence_start = max((end.end() for end in SENTENCE_END.finditer(text, 0, found.start())), default=0)
        if _no_choice.search(text, sentence_start, found.end()) is None:
            return True
    return False
