"""Read an answer as sentences, and decide for each word whether its sentence asserts it, denies it, or leaves it open.

The scope of a negation follows NegEx (Chapman 2001) and ConText: it begins at a word such as `not` and ends at the end
of the sentence, at a word such as `but`, at a comma before another verb, or after SCOPE_WORDS words. A phrase such as
`is false` denies what precedes it. A second denial of a whole statement (`it is untrue that ... not`) cancels the
first. Questions and conditions leave their words open. A list of keywords asserts nothing.
"""

import re
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from instruments.probes.text.tokens import Phrases, TokenizedAnswer, phrases_by_first_word, split_words

SCOPE_WORDS = 9
"""The longest scope of a negation, in words."""

KEYWORDS_MIN = 8
"""A sentence with fewer words is never called a list of keywords: `lines 7, 9 and 12`, `cache: back at 97 %`."""

TELEGRAM_MIN = 6
"""A sentence of so many words without any function word is a list of keywords."""

ALONE_MIN = 4
"""So many words between commas, if they are half of what the commas separate, make a sentence a list of keywords."""

FUNCTION_SHARE_MIN = 0.12
"""English prose has about 0.4 function words, notes have 0.15 to 0.3, lists of keywords nearly none."""

REPEATS_MAX = 3
"""A word of content that a sentence has more often makes it a list of keywords."""

BROKEN_PAIRS_MIN = 2
"""So many pairs of words that English does not have (`the of`) make a sentence a list of keywords."""

ARTICLES_WORDS_MIN = 12
ARTICLE_SHARE_MAX = 0.25
"""A sentence of so many words of which more are articles is a list of keywords with articles strewn in."""

FUNCTION_WORDS = split_words(
    "a an the this that these those it its they them their he she his her who which what there here we you "
    "your i of in on at by to from for with without into onto over under between through during until till "
    "since before after as than about against per via because so if when while where although though but and "
    "or nor not no never only also again already still just back up down out off is are was were be been "
    "being has have had do does did can could will would may might must shall should all both each every any "
    "some none neither either other more most less few same such own then now later once too very much "
    "enough instead rather however therefore thus yet let nothing"
)
NUMBER_WORDS = split_words("one two three five nine ten fifty hundred thousand million m half third thirds percent min")
"""Words that stand for numbers and units, which notes have as many of as lists of keywords."""

_articles = split_words("a an the")
_after_article = split_words(
    "the a an of in on at by to from for with is are was were has have had and or but that which because since"
)
_prepositions = split_words("of in at by from with into")
_after_preposition = split_words("of is are was were has have had and or but by with from")

AUXILIARIES = split_words(
    "is are was were be been has have had do does did can could will would may might must shall should went goes"
)
_ends_of_scope = split_words(
    "but however although though because so which who while whereas yet except instead thus therefore hence and"
)
_pronouns = split_words("that this it all both which these those")
_conditions = split_words("if unless whether suppose supposing imagine assuming assume pretend hypothetically")

QUESTION = "questionmark"
"""The word that ends a question."""

_denials = phrases_by_first_word(
    {
        "skip": "not only|not just|not merely|not simply|not least|not until|not till|not before|not later|not earlier|"
        "not more than|not less than|not fewer|no doubt|no later|no earlier|no sooner|no more than|no less than|"
        "no fewer|nothing but|without doubt|without question|without delay|not surprisingly|not yet",
        "deny": "not|no|never|neither|nor|none|nobody|nothing|without|hardly|scarcely|unlike|ruled out|rule out|"
        "rules out|ruling out|rather than|instead of|far from|anything but|failed to|fails to|refused to|least of all|"
        "prevented|prevents|avoided|avoids|averted|averts|planned to|intended to|wanted to|meant to|was to|were to",
        "open": "would have|should have|could have|might have|ought to have",
        "flip": "false that|untrue that|wrong that|incorrect that|mistaken that|not true that|not the case that|"
        "false to say|wrong to say|untrue to say|wrong to think|false to think|wrong to claim|mistake to think|"
        "a legend that|a fairy tale that|"
        "not correct that|not correct to|denied that|denies that|deny that|a lie that|a myth that|false claim that|"
        "no truth in|not so that|opposite of|contrary of|reverse of|incorrect to",
        "back": (
            "is false|are false|was false|is untrue|are untrue|was untrue|is wrong|are wrong|is incorrect|is a myth|"
            "are a myth|are myths|are fiction|are nonsense|are a lie|were invented|"
            "are incorrect|is a lie|is fiction|is nonsense|is not true|are not true|was not true|is not so|"
            "is not the case|was ruled out|is ruled out|were ruled out|are ruled out|can be ruled out|is mistaken|"
            "was invented|not correct|by nobody|by no one|did not happen|never happened|does not hold|not what happened"
        ),
        "last": "they are liars|they are lying|they lie|they lied|they are mistaken|he lied|she lied|that was a lie",
        "all": "none of this|none of these|none of the following|none of that|nothing of this|nothing of the following|"
        "none of the above|the following is false|the following are false|the following is wrong|the above is false|"
        "the above is wrong|all of this is false|all of this is wrong|all of that is false|everything above is false|"
        "opposite is true|opposite is the case|opposite was true|opposite of all|this is all false|this is all wrong|"
        "the opposite of what|the following is untrue|the following is not|each statement is false|reverse is true|"
        "all false|all untrue|all wrong|everything is false|ignore everything above|not one word|not a word|"
        "these statements are false|these claims are false|everything here is false|every sentence here",
    }
)


class Status(Enum):
    """What a sentence does with a word."""

    ASSERTED = "asserted"
    DENIED = "denied"
    OPEN = "open"
    """In a question, a condition or a list of keywords."""


class Sentence(NamedTuple):
    """The words of one sentence with the mark after each, and the status of each word."""

    words: list[str]
    marks: list[str]
    status: list[Status]
    start: int
    """The index of its first word in the answer."""

    def as_answer(self) -> TokenizedAnswer:
        """Return the sentence as an answer, without capitals."""
        return TokenizedAnswer(self.words, [False] * len(self.words), self.marks)

    def asserts(self, start: int, end: int) -> bool:
        """Whether all words of a span are asserted."""
        return all(status is Status.ASSERTED for status in self.status[start:end])

    def denies(self, start: int, end: int) -> bool:
        """Whether any word of a span is denied."""
        return Status.DENIED in self.status[start:end]

    @property
    def is_open(self) -> bool:
        """Whether the sentence asserts and denies nothing."""
        return all(status is Status.OPEN for status in self.status)


_heading = re.compile(r"^[ \t>]*(?:#{1,6}[ \t]*([^\n]+?)|\*\*([^*\n]{1,60}?)\*\*)[ \t:]*$", re.MULTILINE)
_bullet = re.compile(r"^[ \t>|]*(?:[-*•+–]|\d{1,2}[.)])[ \t]+", re.MULTILINE)  # noqa: RUF001 - bullets of answers
_label_dash = re.compile(r"^([ \t*]*[A-Za-z][A-Za-z ]{2,30}?)[ \t*]+[-–—][ \t]+", re.MULTILINE)  # noqa: RUF001
_label_line = re.compile(r"\n[ \t>*_\"]*([A-Z][A-Za-z ]{1,30}?)[ \t*_\"]*:")
_replacements: tuple[tuple[re.Pattern[str], str], ...] = (
    (_heading, r". \1\2: "),
    (_bullet, ". "),
    (_label_dash, r"\1: "),
    (_label_line, r". \1:"),
    (re.compile(r"\n[ \t]*\n"), ". "),
    (re.compile(r"[ \t]*(?:-+>|=+>|→|⇒|➔)[ \t]*"), " to "),
    (re.compile(r"[ \t]+[-–—]+[ \t]+|—"), ", "),  # noqa: RUF001 - dashes as answers write them
    (re.compile(r"[{}]"), ". "),
    (re.compile(r"\|"), ", "),
    (re.compile(r"[ \t]*[(\[][ \t]*|[)\]]"), ", "),
    (re.compile(r",[ \t]*([.;:!?,])"), r"\1"),
    (re.compile(r":[ \t\n]*\.(?=\s)"), ":"),
    (re.compile(r"\?"), f" {QUESTION}."),
    (re.compile(r"½"), " half "),
    (re.compile(r"⅔|\b2[ \t]*/[ \t]*3\b"), " two thirds "),
    (re.compile(r"⅓|\b1[ \t]*/[ \t]*3\b"), " one third "),
)


def read_prose(text: str) -> TokenizedAnswer | None:
    """Split an answer into words, with headings, items, dashes, brackets and arrows as marks; None if it is too long.

    A line break inside a paragraph is a space.
    """
    for pattern, replacement in _replacements:
        text = pattern.sub(replacement, text)
    return TokenizedAnswer.of(text)


def read_sentences(answer: TokenizedAnswer) -> list[Sentence]:
    """Return the sentences of an answer with the status of each word."""
    sentences = [_read_sentence(answer, span) for span in answer.sentences()]
    for index in range(1, len(sentences)):
        if _denies_the_last(sentences[index]):
            before = sentences[index - 1]
            sentences[index - 1] = before._replace(status=[Status.DENIED] * len(before.words))
    return sentences


def _denies_the_last(sentence: Sentence) -> bool:
    """Whether a sentence denies the one before it, as `That is false.` and `They are liars.` do."""
    if not sentence.is_open and _match(sentence.words, 0)[0] == "last":
        return True
    if sentence.is_open or sentence.words[0] not in _pronouns:
        return False
    return any(_match(sentence.words, index)[0] == "back" for index in range(1, min(4, len(sentence.words))))


def takes_back(answer: TokenizedAnswer, rejected: TokenizedAnswer | None = None) -> bool:
    """Whether an answer says of all that it says that it is not true: `none of this is true`.

    At the beginning of what it rejects it says that of those causes alone: `none of the following is the cause`.
    """
    taken_back = sum(_match(answer.words, index)[0] == "all" for index in range(len(answer)))
    return taken_back > (rejected is not None and len(rejected) > 0 and _match(rejected.words, 0)[0] == "all")


def is_keyword_list(words: list[str], marks: list[str]) -> bool:
    """Whether words are a list of keywords, and not a sentence or a note."""
    stops = [-1, *(index for index, mark in enumerate(marks) if mark in {",", ":", "."})]
    alone = sum(end - start == 1 and words[end].isalpha() for start, end in pairwise(stops))
    if alone >= ALONE_MIN and 2 * alone >= len(stops) - 1:
        return True
    letters = [word for word in words if word[0].isalpha() and word not in NUMBER_WORDS]
    content = [word for word in letters if word not in FUNCTION_WORDS]
    if any(content.count(word) > REPEATS_MAX for word in set(content)):
        return True
    pairs = list(pairwise(words))
    if any(first in _articles and second in _after_article for first, second in pairs):
        return True
    if sum(first in _prepositions and second in _after_preposition for first, second in pairs) >= BROKEN_PAIRS_MIN:
        return True
    if len(words) >= ARTICLES_WORDS_MIN and sum(word in _articles for word in words) > ARTICLE_SHARE_MAX * len(words):
        return True
    if len(letters) >= TELEGRAM_MIN and len(content) == len(letters):
        return True
    return len(letters) >= KEYWORDS_MIN and 1 - len(content) / len(letters) < FUNCTION_SHARE_MIN


def function_share(answer: TokenizedAnswer) -> float:
    """Return the share of function words among the words of an answer that are not numbers, 0..1."""
    letters = [word for word in answer.words if word[0].isalpha()]
    return sum(word in FUNCTION_WORDS for word in letters) / max(1, len(letters))


def phrase_spans(sentence: Sentence, phrases: Phrases) -> list[tuple[int, int, str]]:
    """Return where phrases occur in a sentence, as start, end (exclusive) and name; of several the longest."""
    spans: list[tuple[int, int, str]] = []
    end = 0
    for index, word in enumerate(sentence.words):
        for phrase, name in phrases.get(word, ()) if index >= end else ():
            if tuple(sentence.words[index : index + len(phrase)]) == phrase:
                end = index + len(phrase)
                spans.append((index, end, name))
                break
    return spans


def _read_sentence(answer: TokenizedAnswer, span: range) -> Sentence:
    words, marks = answer.words[span.start : span.stop], answer.marks[span.start : span.stop]
    if words[-1] == QUESTION or is_keyword_list(words, marks):
        return Sentence(words, marks, [Status.OPEN] * len(words), span.start)
    if any(_match(words, index)[0] == "open" for index in range(len(words))):
        return Sentence(words, marks, [Status.OPEN] * len(words), span.start)
    denied = _denied_words(words, marks)
    status = [Status.DENIED if each else Status.ASSERTED for each in denied]
    for index, word in enumerate(words):
        if word in _conditions:
            for at in range(index, _next_stop(marks, index)):
                status[at] = Status.OPEN
    return Sentence(words, marks, status, span.start)


def _denied_words(words: list[str], marks: list[str]) -> list[bool]:
    denied, flipped = [False] * len(words), [False] * len(words)
    index = 0
    while index < len(words):
        kind, length = _match(words, index)
        if kind == "flip":
            flipped[index + length :] = [not each for each in flipped[index + length :]]
        elif kind == "back":
            start = _last_end(words, index)
            denied[start:index] = [not each for each in denied[start:index]]
        elif kind == "deny":
            stop = _end_of_scope(words, marks, index + length)
            denied[index + length : stop] = [True] * (stop - index - length)
        index += max(1, length)
    return [one != other for one, other in zip(denied, flipped, strict=True)]


def _match(words: list[str], index: int) -> tuple[str, int]:
    """Return the kind and the length of the phrase of denial at a word; "" and 0 if there is none."""
    for phrase, name in _denials.get(words[index], ()):
        end = index + len(phrase)
        if tuple(words[index:end]) == phrase and (name != "back" or words[end : end + 1] not in (["that"], ["to"])):
            return name, len(phrase)
    return "", 0


def _end_of_scope(words: list[str], marks: list[str], start: int) -> int:
    """Return where the scope of a negation ends that begins before a word."""
    for index in range(start, min(len(words), start + SCOPE_WORDS)):
        ends = words[index] in _ends_of_scope and index > start
        if ends and (words[index] != "and" or not AUXILIARIES.isdisjoint(words[index + 1 : index + 5])):
            return index
        if marks[index] == ":" or (marks[index] == "," and _has_verb(words, marks, index + 1)):
            return index + 1
    return min(len(words), start + SCOPE_WORDS)


def _has_verb(words: list[str], marks: list[str], start: int) -> bool:
    """Whether the words up to the next comma contain a verb, or begin with `as` or a participle."""
    segment = words[start : _next_stop(marks, start)]
    return any(word in AUXILIARIES or word.endswith("ed") for word in segment) or segment[:1] in (["as"], ["by"])


def _next_stop(marks: list[str], start: int) -> int:
    return next((index + 1 for index in range(start, len(marks)) if marks[index] in {",", ":", "."}), len(marks))


def _last_end(words: list[str], index: int) -> int:
    """Return where the statement begins that ends before a word."""
    return next((at + 1 for at in range(index - 1, -1, -1) if words[at] in _ends_of_scope - {"and", "which"}), 0)
