"""A judge: asks for verdicts or preferences, as often as told, and joins the replies.

One unusable reply makes the whole judgement a failure: a verdict never rests on fewer votes than its scorer states.
"""

import re
import secrets
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from events.judge import AGENT_PREFIX, JudgeVote, PairVote, Preferred
from events.limits import AGENT_NAME_CHARS_MAX, LABEL_CHARS_MAX
from events.payload import Confidence
from instruments.answer import RouterAnswer
from instruments.evals.judging import prompt
from instruments.evals.judging.answer_fence import ANSWER_CHARS_MAX, answer_text
from instruments.evals.judging.client import JudgeClient
from instruments.evals.judging.rubric import criteria_of
from instruments.evals.judging.verdict import (
    BadVerdict,
    ReasonText,
    check_reason,
    read_reply,
    read_verdicts,
)
from instruments.evals.scenario import Scenario
from instruments.stored_text import sha256_hex

SCORER_ID = "judge"
DIGEST_CHARS = 8
"""Hex digits of the prompt's digest in the version of the scorer."""

_not_name_char = re.compile(r"[^A-Za-z0-9._:@/+-]+")


class JudgeUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What the replies of one judgement took together; None where a reply does not state it."""

    reported_model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    elapsed_ns: int | None = None


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The votes on each criterion, or the reason why there are none."""

    votes: dict[str, tuple[JudgeVote, ...]] = {}
    detail: str | None = None
    usage: JudgeUsage = JudgeUsage()
    transient: bool = False
    """Whether the last reply is missing for a reason that may be gone later."""


class PairJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """The votes on a pair of answers, or the reason why there are none."""

    votes: tuple[PairVote, ...] = ()
    detail: str | None = None
    usage: JudgeUsage = JudgeUsage()


class PairReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reply about a pair."""

    better: Literal["A", "B", "tie"]
    confidence: Confidence
    reason: Annotated[ReasonText, msgspec.Meta(min_length=1)]


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """A judge with its settings. `agent` is its name as an agent of the ledger."""

    client: JudgeClient
    agent: str
    model: str
    repeats: int
    timeout_s: float
    named: bool = False
    """Whether the caller chose the name."""
    temperature: float | None = None
    nonce: str = msgspec.field(default_factory=lambda: secrets.token_hex(prompt.NONCE_CHARS // 2))

    @property
    def scorer_version(self) -> str:
        """Model, prompt, repeats and settings: the scores of judges that differ in one of them are not comparable."""
        return self._version(self.prompt_digest)

    @property
    def pair_version(self) -> str:
        """As `scorer_version`, for the comparison of pairs."""
        return self._version(self.pair_prompt_digest)

    @property
    def prompt_digest(self) -> str:
        """The digest of the prompt that asks for verdicts."""
        return prompt.VERDICT_PROMPT_DIGEST

    @property
    def pair_prompt_digest(self) -> str:
        """The digest of the prompt that compares two answers."""
        return prompt.PAIR_PROMPT_DIGEST

    def _version(self, digest: str) -> str:
        parts = [self.model, digest[:DIGEST_CHARS], f"k{self.repeats}"]
        if self.temperature is not None:
            parts.append(f"t{self.temperature:g}")
        if self.named:
            parts.append(self.agent.removeprefix(AGENT_PREFIX))
        return "/".join(parts)

    async def judge(self, scenario: Scenario, answer: dict[str, Any]) -> Judgement:
        """Ask for verdicts on an answer; never raises. Cancelling ends the program or the request."""
        text = answer_text(answer)
        if (detail := _too_long(text)) is not None:
            return Judgement(detail=detail)
        criteria = criteria_of(scenario)
        names = [criterion.name for criterion in criteria]
        question = prompt.verdict_prompt(scenario, criteria, text, self.nonce)
        votes: dict[str, tuple[JudgeVote, ...]] = dict.fromkeys(names, ())
        replies: list[RouterAnswer] = []
        for number in range(1, self.repeats + 1):
            replies.append(await self.client.ask(question, "verdicts", prompt.VERDICT_SCHEMA, self.timeout_s))
            try:
                read = read_verdicts(_reply_text(replies[-1]), names, text)
            except BadVerdict as error:
                return Judgement(
                    detail=_describe(error, number, self.repeats),
                    usage=_usage(replies),
                    transient=replies[-1].transient,
                )
            votes = {name: (*votes[name], read[name]) for name in names}
        return Judgement(votes=votes, usage=_usage(replies))

    async def compare(self, scenario: Scenario, first: dict[str, Any], second: dict[str, Any]) -> PairJudgement:
        """Ask which of two answers is better, in both orders; never raises. Cancelling ends the request."""
        texts = answer_text(first), answer_text(second)
        if (detail := _too_long(texts[0]) or _too_long(texts[1])) is not None:
            return PairJudgement(detail=detail)
        criteria = criteria_of(scenario)
        votes: list[PairVote] = []
        replies: list[RouterAnswer] = []
        for number in range(1, 2 * self.repeats + 1):
            swapped = number % 2 == 0
            shown = texts[::-1] if swapped else texts
            question = prompt.pair_prompt(scenario, criteria, shown, self.nonce)
            replies.append(await self.client.ask(question, "preference", prompt.PAIR_SCHEMA, self.timeout_s))
            try:
                votes.append(_pair_vote(_reply_text(replies[-1]), swapped=swapped))
            except BadVerdict as error:
                return PairJudgement(detail=_describe(error, number, 2 * self.repeats), usage=_usage(replies))
        return PairJudgement(votes=tuple(votes), usage=_usage(replies))


def agent_of(name: str) -> str:
    """Return the name of a judge as an agent: `judge:` and the name in the characters of an agent's name.

    A name that had to be changed gets a part of its digest, so that two judges never share an agent.
    """
    kept = _not_name_char.sub("-", name).strip("-")
    if kept != name or len(AGENT_PREFIX + kept) > AGENT_NAME_CHARS_MAX:
        kept = (
            f"{kept[: AGENT_NAME_CHARS_MAX - len(AGENT_PREFIX) - DIGEST_CHARS - 1]}-{sha256_hex(name)[:DIGEST_CHARS]}"
        )
    return AGENT_PREFIX + kept


def _pair_vote(reply: str, *, swapped: bool) -> PairVote:
    """Errors: BadVerdict."""
    read = read_reply(reply, PairReply)
    check_reason("the pair", read.reason, read.confidence, minimum=0.0)
    order: tuple[Preferred, Preferred] = ("second", "first") if swapped else ("first", "second")
    preferred: Preferred = "tie" if read.better == "tie" else order["AB".index(read.better)]
    return PairVote(swapped=swapped, preferred=preferred, confidence=read.confidence, reason=read.reason.strip())


def _reply_text(answer: RouterAnswer) -> str:
    """Return the text of a reply. Errors: BadVerdict, if there is none, or if it was cut off."""
    if answer.text is None:
        raise BadVerdict(answer.detail or "gave no reply")
    if answer.cut_off:
        raise BadVerdict("was cut off at the endpoint's limit of tokens")
    return answer.text


def _describe(error: BadVerdict, number: int, count: int) -> str:
    which = "the judge's reply" if count == 1 else f"reply {number} of {count} of the judge"
    return f"{which}: {error}"


def _too_long(text: str) -> str | None:
    if len(text) <= ANSWER_CHARS_MAX:
        return None
    return f"the answer has {len(text):,} characters; a judge gets at most {ANSWER_CHARS_MAX:,}, and no part of one"


def _usage(replies: Sequence[RouterAnswer]) -> JudgeUsage:
    models = sorted({reply.reported_model for reply in replies if reply.reported_model is not None})
    return JudgeUsage(
        reported_model=", ".join(models)[:LABEL_CHARS_MAX] or None,
        input_tokens=_sum([reply.input_tokens for reply in replies]),
        output_tokens=_sum([reply.output_tokens for reply in replies]),
        elapsed_ns=_sum([reply.elapsed_ns for reply in replies]),
    )


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None
