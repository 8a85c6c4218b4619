"""Read the reply of a judge: one verdict for each criterion, checked strictly. Anything else is a fault, never a score.

A reply is one JSON object, alone or in one fenced block of code.
"""

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import msgspec

from events.decode_error_messages import in_json_words
from events.json_check import replace_half_surrogates
from events.judge import JudgeVote
from events.payload import Confidence
from instruments.evals.judging.answer_fence import contains_quote
from instruments.stored_text import storable_text

REASON_CHARS_MAX = 1_000
"""Characters of a reason, and of a quote."""

CONFIDENCE_MIN = 0.5
"""The least confidence in a verdict of two possible ones: a judge that states less believes the other verdict."""

ReasonText = Annotated[str, msgspec.Meta(max_length=REASON_CHARS_MAX)]

_Shape = TypeVar("_Shape")
_code_block = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL | re.IGNORECASE)


class BadVerdict(ValueError):
    """A reply that is not a valid verdict; the text says why and contains nothing of the reply but short names."""


class CriterionReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The verdict of a reply on one criterion."""

    criterion: str
    passed: bool
    confidence: Confidence
    reason: ReasonText
    quote: ReasonText | None


class VerdictReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole reply."""

    verdicts: tuple[CriterionReply, ...]


def read_verdicts(reply: str, criteria: Sequence[str], answer: str) -> dict[str, JudgeVote]:
    """Return the vote of a reply on each criterion. `answer` is the text that the judge was shown.

    Errors: BadVerdict.
    """
    read = read_reply(reply, VerdictReply).verdicts
    named = [verdict.criterion for verdict in read]
    for name in dict.fromkeys(named):
        if name not in criteria:
            raise BadVerdict(f"has a verdict on {name[:80]!r}, which is not a criterion")
        if named.count(name) > 1:
            differ = len({verdict.passed for verdict in read if verdict.criterion == name}) > 1
            raise BadVerdict(f"has {named.count(name)} verdicts on {name}{', which contradict each other' * differ}")
    missing = [name for name in criteria if name not in named]
    if missing:
        raise BadVerdict(f"has no verdict on {', '.join(missing)}")
    return {verdict.criterion: _vote(verdict, answer) for verdict in read}


def read_reply(reply: str, shape: type[_Shape]) -> _Shape:
    """Decode a reply as one JSON object of a shape. Errors: BadVerdict."""
    block = _code_block.fullmatch(reply)
    text = block[1] if block is not None else reply
    try:
        decoded = msgspec.json.decode(replace_half_surrogates(storable_text(text)))
        _refuse_repeated_keys(text)
        return msgspec.convert(decoded, shape)
    except msgspec.ValidationError as error:
        problem = in_json_words(str(error))
        raise BadVerdict(f"does not follow the schema: {problem[0].lower()}{problem[1:]}") from None
    except msgspec.DecodeError:
        raise BadVerdict("is not one JSON object, or was cut off" if text.strip() else "is empty") from None
    except RecursionError:
        raise BadVerdict("is nested too deep") from None


def check_reason(name: str, reason: str, confidence: float, *, minimum: float = CONFIDENCE_MIN) -> None:
    """Check that a verdict has a reason and does not contradict its confidence. Errors: BadVerdict."""
    if not reason.strip():
        raise BadVerdict(f"gives no reason for {name}")
    if confidence < minimum:
        detail = f"states {confidence:g} as the probability that its own verdict on {name} is right"
        raise BadVerdict(f"contradicts itself: it {detail}, which means the opposite verdict")


def _vote(verdict: CriterionReply, answer: str) -> JudgeVote:
    check_reason(verdict.criterion, verdict.reason, verdict.confidence)
    quote = verdict.quote if verdict.quote is not None and verdict.quote.strip() else None
    if quote is None and verdict.passed:
        raise BadVerdict(f"passes {verdict.criterion} and quotes nothing of the answer")
    if quote is not None and not contains_quote(answer, quote):
        raise BadVerdict(f"quotes for {verdict.criterion} what the answer does not contain")
    return JudgeVote(passed=verdict.passed, confidence=verdict.confidence, reason=verdict.reason.strip(), quote=quote)


def _refuse_repeated_keys(text: str) -> None:
    """Refuse an object that states a key twice: JSON readers keep one of both. Errors: BadVerdict."""

    def check(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        for name in names:
            if names.count(name) > 1:
                raise BadVerdict(f"states {name[:80]!r} twice in one object")

    json.loads(text, object_pairs_hook=check)
