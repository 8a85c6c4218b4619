"""Which comments say something that the code beside them does not say."""

import re
from collections.abc import Iterable, Iterator

from instruments.probes.refactor.comment_count import CommentBlock, content_of
from instruments.probes.refactor.language import Language
from instruments.probes.refactor.parsed_source import ParsedSource, node_text

_FILLERS = """
a about after again all also an and any are as at be been before being both but by can could did do does doing done each
either else even every few first for from further get gets getting given goes going got had has have having here how if
in into is it its itself just last like made make makes making may might more most much must my need needs next no nor
not now of off ok okay on once one only onto or other our out over own per put rather same shall should since so some
still such than that the their them then there these they thing things this those through thus to todo too two under
until up upon us use used uses using very via was we well were what when where whether which while who why will with
within without would yes yet you your
"""
_NARRATION = """
add adds added append appends argument arguments array assign assigns assigned block body bool boolean branch call calls
called case check checks checked code comment comments compare compares compute computes concatenate condition constant
create creates data declare declares decrement define defines element elements empty end equal equals error exit false
file finally function functions handle handles help helper helpers increment increments index init initial initialise
initialize input int integer item items iterate iterates keep len length line lines list loop loops main method module
name names new none nil null number numbers output parameter parameters pass perform performs print process processes
program raise raises result results return returns returned returning run runs set sets setting start statement step
store stores str string strings subtract text1 temp test throw true tuple type update updates value values variable
variables zero
foo bar baz qux lorem ipsum dolor blah bla asdf qwer qwerty hello world test testing sample example dummy placeholder
"""

_IGNORED = frozenset(f"{_FILLERS} {_NARRATION}".split())
"""Words that link others, words that name what any code does, and words that stand for nothing."""

_word = re.compile(r"[^\W\d_]+")
_hump = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_ending = re.compile(r"(?:ing|ed|es|s|e)$")


def count_credited(blocks: Iterable[CommentBlock], source: ParsedSource, language: Language) -> int:
    """Count comments with a word of their own: not of the code beside them, of `_IGNORED`, or of no meaning.

    Comments that have the same such words count once.
    """
    return len({words for block in blocks if (words := _own_words(block, source, language))})


def _own_words(block: CommentBlock, source: ParsedSource, language: Language) -> frozenset[str]:
    text = content_of("\n".join(node_text(node) for node in block.nodes), language)
    beside = {stem for line in _lines_beside(block, source) for stem in _stems(line)}
    return frozenset(stem for stem in _stems(text) if stem not in beside and _is_word(stem))


def _lines_beside(block: CommentBlock, source: ParsedSource) -> Iterator[str]:
    """Yield the lines of code that a comment describes; for one inside a declaration, also the declaration's first."""
    comments = [(node.start_byte, node.end_byte) for node in block.nodes]
    for offset in block.owner_offsets:
        owner = source.owner(offset)
        for position in (offset, *((owner.start, owner.node.start_byte) if owner is not None else ())):
            start = source.encoded.rfind(b"\n", 0, position) + 1
            end = source.encoded.find(b"\n", position)
            line = bytearray(source.encoded[start : end if end >= 0 else None])
            for comment_start, comment_end in comments:
                first, last = max(comment_start - start, 0), max(comment_end - start, 0)
                line[first:last] = b" " * (min(last, len(line)) - min(first, len(line)))
            yield line.decode("utf-8", "replace")


def _stems(text: str) -> Iterator[str]:
    """Yield the words of a text except ignored ones: lower case, without endings, parts of compound names apart."""
    for found in _word.findall(_hump.sub(" ", text)):
        word = found.lower()
        if word not in _IGNORED:
            yield _ending.sub("", word) if len(word) > 4 else word


def _is_word(stem: str) -> bool:
    """Whether letters can be a word: three different ones, or of a script that is not Latin."""
    return len(set(stem)) > 2 or not stem.isascii()
