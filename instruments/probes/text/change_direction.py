"""Find in which direction a sentence says that something changed: `the pool was cut from 50 to 5` is down.

A verb of change applies to what follows it (`cut the pool`), or in the passive and without an object to what precedes
it (`the pool was cut`, `the pool fell to 5`). Two numbers have a direction of their own. A sentence whose verb and
numbers disagree says both.
"""

from itertools import pairwise
from typing import Literal, NamedTuple

from instruments.probes.text.prose import Sentence, Status, phrase_spans
from instruments.probes.text.tokens import Phrases, phrases_by_first_word, split_words

Direction = Literal["down", "up"]

VERBS_DOWN = split_words(
    "reduce reduces reduced reducing lower lowers lowered lowering cut cuts cutting shrink shrinks shrank "
    "shrunk shrinking decrease decreases decreased decreasing drop drops dropped dropping slash slashes "
    "slashed slashing trim trims trimmed trimming limit limits limited limiting restrict restricts "
    "restricted restricting cap caps capped capping throttle throttles throttled throttling downsize "
    "downsizes downsized downsizing tighten tightens tightened squeeze squeezes squeezed fall falls fell "
    "fallen falling diminish diminished curtail curtailed curtails choke chokes choked constrict "
    "constricted collapse collapsed plunge plunged dwindle dwindled shrivel shaved shave deflated minimised "
    "minimized contract contracted contracts scaled-down strangled strangle starve starved starves crippled "
    "decimated narrowed narrow narrows"
)
VERBS_UP = split_words(
    "increase increases increased increasing raise raises raised raising grow grows grew grown growing "
    "expand expands expanded expanding enlarge enlarges enlarged enlarging widen widens widened boost boosts "
    "boosted boosting lift lifts lifted double doubled doubles triple tripled multiply multiplied extend "
    "extended upsize upsized inflate inflated rise rises rose risen rising climb climbed climbs bump bumped "
    "bumps soar soared swell swelled swollen surged balloon ballooned loosen loosened enlarged jumped jump "
    "jumps"
)
NOUNS_DOWN = split_words("reduction reductions decrease cut drop shrinkage shrinking cap limit downsizing fall squeeze")
NOUNS_UP = split_words("increase rise growth expansion enlargement boost extension surplus doubling")
STATES_DOWN = split_words(
    "small smaller tiny undersized low lower few fewer scarce scant insufficient inadequate tight tighter "
    "minimal reduced shrunken meagre meager miniature cramped lowered limited restricted starved short"
)
STATES_UP = split_words(
    "large larger big bigger huge oversized high higher ample generous plentiful enlarged increased raised excessive"
    " many spacious unlimited"
)
_moved = split_words("scale scales scaled turn turned turns bring brings brought take took takes dial dialled dialed")
_pronouns = split_words("it them")
"""They stand for the thing after its name in a sentence: `the pool: change 4417 made it smaller`."""

_be = split_words("is are was were be been being got gets get becomes became")
_stops = split_words(
    "to by from because so until when while which that and as is are was were has had have but causing making leading"
)
_degree = split_words("is are was were be been far too much very way so now became becomes made left remained stayed")
_before_theme = 10
_after_theme = 6

_TO = split_words("to into became becomes")
_FROM = split_words(
    "from instead rather formerly previously was were before earlier where normally usual originally should"
)
_SINGLE = split_words("to only just at mere")
_VALUES = split_words("value size limit maximum max setting ceiling cap")
_NUMBER_GAP = 10
VERBS_MIN = 3
"""So many different verbs of change in one sentence are a list of keywords."""


class Change(NamedTuple):
    """A direction, whether the sentence asserts it, and whether it is only a state (`a small pool`)."""

    direction: Direction
    status: Status
    is_state: bool = False


class ChangeFinder:
    """Finds changes of one thing, named by `things` (separated by `|`), between a low and a high number."""

    def __init__(self, things: str, low: str, high: str) -> None:
        self._things: Phrases = phrases_by_first_word({"thing": things})
        self._numbers: dict[str, Direction] = dict.fromkeys(low.split(), "down")
        self._numbers |= dict.fromkeys(high.split(), "up")

    def spans(self, sentence: Sentence) -> list[tuple[int, int, str]]:
        """Return where the thing is named."""
        return phrase_spans(sentence, self._things)

    def find(self, sentence: Sentence) -> list[Change]:
        """Return the changes that a sentence states; none if it does not name the thing."""
        spans = [(start, end) for start, end, _ in self.spans(sentence)]
        if not spans:
            return []
        words, found = sentence.words, []
        spans += [(at, at + 1) for at in range(spans[0][1], len(words)) if words[at] in _pronouns]
        kinds = {word for word in words if word in VERBS_DOWN}
        if len(kinds) >= VERBS_MIN:
            return [Change("down", Status.OPEN)]
        for index, word in enumerate(words):
            direction = self._direction_at(words, index)
            if direction is not None and _applies(sentence, spans, index):
                found.append(Change(direction, sentence.status[index]))
            state: Direction | None = "down" if word in STATES_DOWN else "up" if word in STATES_UP else None
            if state is not None and _describes(words, spans, index):
                found.append(Change(state, sentence.status[index], is_state=True))
        return found + self._between_numbers(sentence, spans)

    def _direction_at(self, words: list[str], index: int) -> Direction | None:
        word = words[index]
        if word in _moved:
            near = words[index + 1 : index + 6]
            return "down" if "down" in near else "up" if "up" in near else None
        if word in VERBS_DOWN or word in NOUNS_DOWN:
            return "down"
        return "up" if word in VERBS_UP or word in NOUNS_UP else None

    def _between_numbers(self, sentence: Sentence, spans: list[tuple[int, int]]) -> list[Change]:
        words = sentence.words
        at = [(index, self._numbers[word]) for index, word in enumerate(words) if word in self._numbers]
        found: list[Change] = []
        for (first, one), (second, other) in pairwise(at):
            between = words[first + 1 : second]
            if one == other or len(between) > _NUMBER_GAP:
                continue
            if not _FROM.isdisjoint(between) or "not" in between:
                found.append(Change(one, sentence.status[first]))
            elif not _TO.isdisjoint(between):
                found.append(Change(other, sentence.status[second]))
        if not found:
            ends = {end for _, end in spans}
            found = [
                Change(direction, sentence.status[index])
                for index, direction in at
                if index
                and (
                    (_is_single(words, index) and _near(spans, index))
                    or index in ends
                    or (words[index - 1] == "of" and index - 1 in ends)
                )
            ]
        return found


def _is_single(words: list[str], index: int) -> bool:
    """Whether a number alone says how many there are now: `to 5`, `only had 5`, `a value of 5`."""
    last_two = words[max(0, index - 2) : index]
    return (
        last_two[-1] in _SINGLE
        or not {"only", "just", "merely"}.isdisjoint(last_two)
        or (last_two[-1] == "of" and last_two[0] in _VALUES)
    )


def _near(spans: list[tuple[int, int]], index: int) -> bool:
    return any(start - 3 <= index <= end + _before_theme for start, end in spans)


def _applies(sentence: Sentence, spans: list[tuple[int, int]], index: int) -> bool:
    """Whether a verb or noun of change applies to one of the spans."""
    words, marks = sentence.words, sentence.marks
    for start, end in spans:
        if index < start <= index + _after_theme:
            between = words[index + 1 : start]
            if _stops.isdisjoint(between) and "," not in marks[index : start - 1]:
                return True
        if end <= index <= end + _before_theme:
            between = words[end:index]
            passive = not _be.isdisjoint(words[max(end, index - 3) : index])
            following = words[index + 1 : index + 2]
            bare = not following or following[0] in {"from", "to", "by", "down", "up", "on", "at"}
            bare = bare or marks[index] in {",", ".", ":"}
            if (passive or bare) and not _another_subject(between):
                return True
    return False


def _another_subject(between: list[str]) -> bool:
    """Whether another subject begins between a thing and a verb: `the pool ran dry and the queue`."""
    return not {"and", "so", "but", "because", "while"}.isdisjoint(between)


def _describes(words: list[str], spans: list[tuple[int, int]], index: int) -> bool:
    """Whether an adjective describes one of the spans: `a smaller pool`, `the pool was far too small`."""
    return any(
        (index < start <= index + 2) or (end <= index <= end + 6 and set(words[end:index]) <= _degree)
        for start, end in spans
    )
