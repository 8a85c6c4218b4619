"""What one answer is: who it says it is from, what it answers, and whether it counts."""

import re
from collections.abc import Callable
from typing import Literal

import msgspec

from events import ModelIdentity, canonical, is_unresolved, is_wrapper, key_of
from instruments.discovery.code_fences import blocks
from instruments.discovery.identity_parser import IdentityClaim, find
from instruments.discovery.prompts import REFUSAL
from instruments.discovery.scored_output import bare_code, output_of
from instruments.probes import Probe, ProbeScore

Verdict = Literal["identified", "wrapper", "refused", "empty", "unparsable"]

_ORNAMENT = " \t\r\n*_>#~`\"'()[]{}.!:-"
_refusal = re.compile(rf"{REFUSAL}(?!-?\w)")
_LANGUAGES = {"go": "Go function", "python": "Python function", None: "text beside the identity"}
_escapes = re.compile(r"\x1b\[[0-9;?]*[@-~]")
_thought = re.compile(r"\s*<(think|thinking|reasoning)>")
_label = re.compile(r"\w{1,16}\s")


class ResponseAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """One answer, read. The same answer to the same probe is always read the same."""

    identity: ModelIdentity | None
    """Who it says it is from; None where it does not say, or says two things. Source: the answer."""
    key: str | None
    """The identity's name in lower case. Source: the identity."""
    code: str | None
    """The part that is scored: code, or the text of an answer to a probe of text. Source: the answer."""
    score: ProbeScore | None
    """What the probe's scorer makes of it. Source: the scorer."""
    known: bool
    """Whether it is a model the owner registered. Source: the caller."""
    wrapper: bool
    """Whether the identity is a host's own name. Source: the identity."""
    verdict: Verdict
    """`identified` a model, with an answer; `wrapper` a host instead; `refused`; `empty`; `unparsable` the rest."""
    reason: str
    """Why that verdict, in words. Source: the parser."""


def analyze(answer: str | None, probe: Probe, known: Callable[[str], bool] = lambda name: False) -> ResponseAnalysis:
    """Read an answer to a probe's prompt; never an error, in time linear in the answer's length.

    A name that names no model (`unknown`) is kept as the identity it is, and the verdict is `unparsable`: an owner who
    asks which models answer is told of none, and excluding `unknown` would exclude nobody.

    Args:
        answer: the whole answer, None where there was none.
        probe: what was asked.
        known: whether a claimed name is of a registered model.
    """
    text = _spoken((answer or "").encode(errors="replace").decode())
    if not any(letter.isprintable() and letter not in _ORNAMENT for letter in text):
        return _analysis("empty", "the answer is empty")
    if _is_refusal(text):
        return _analysis("refused", f"the answer begins with {REFUSAL}")
    found = find(bare_code(blocks(text), probe))
    identity, doubt = _claimed(found)
    if found.rest and found.rest[0].text and _is_refusal(found.rest[0].text) and identity is not None:
        return _analysis("refused", f"the answer is {REFUSAL} beside an identity", identity)
    code = output_of(found.rest, probe)
    verdict, reason = _verdict(identity, doubt, code, probe)
    return _analysis(verdict, reason, identity, code, probe, known)


def _spoken(text: str) -> str:
    """What an answer says: without a mark of byte order, a terminal's colours, and the thinking that leads up to it."""
    said = _escapes.sub("", text.removeprefix("\ufeff"))
    thought = _thought.match(said)
    end = -1 if thought is None else said.find(f"</{thought[1]}>", thought.end())
    return said if thought is None or end < 0 else said[end + len(thought[1]) + 3 :]


def _is_refusal(text: str) -> bool:
    """Whether a text begins with the word, under any ornament or in a fence, or is nothing but it in any case."""
    bare = text.lstrip(_ORNAMENT)
    ornament = text[: len(text) - len(bare)]
    label = _label.match(bare) if ornament.endswith(("```", "~~~")) else None
    if label is not None and _refusal.match(bare) is None:
        bare = bare[label.end() :].lstrip(_ORNAMENT)
    return _refusal.match(bare) is not None or bare[:64].rstrip(_ORNAMENT).upper() == REFUSAL


def _claimed(found: IdentityClaim) -> tuple[ModelIdentity | None, str]:
    """The one identity that the claims come to, and what is wrong where they come to none.

    Names of one model are one claim, the first as it stands. A name that names nothing gives way to one that does; the
    prompt's own placeholder is no claim at all.
    """
    stated = [claim for claim in found.claims if not _is_placeholder(claim.model_name)]
    names = {canonical(claim.model_name): claim for claim in reversed(stated) if not is_unresolved(claim.model_name)}
    if len(names) > 1:
        both = " and ".join(repr(claim.model_name) for claim in list(reversed(names.values()))[:2])
        return None, f"the answer contradicts itself: it says it is {both}"
    if names:
        return next(iter(names.values())), ""
    if stated:
        return stated[0], f"its identity names no model: {stated[0].model_name!r}"
    if found.complaints:
        return None, f"no identity can be read from the answer: {found.complaints[0]}"
    return None, "the identity is the prompt's own placeholder" if found.claims else "no identity is in the answer"


def _is_placeholder(name: str) -> bool:
    return name[:1] == "<" and name[-1:] == ">"


def _verdict(identity: ModelIdentity | None, doubt: str, code: str | None, probe: Probe) -> tuple[Verdict, str]:
    """What an answer that is neither empty nor a refusal counts as, and why."""
    if identity is None or doubt:
        return "unparsable", doubt
    if is_wrapper(identity.model_name):
        return "wrapper", f"{identity.model_name!r} is a host's name, not a model's"
    if code is None:
        return "unparsable", f"no {_LANGUAGES[probe.language]} is in the answer"
    return "identified", f"it says it is {identity.model_name!r}"


def _analysis(
    verdict: Verdict,
    reason: str,
    identity: ModelIdentity | None = None,
    code: str | None = None,
    probe: Probe | None = None,
    known: Callable[[str], bool] = lambda name: False,
) -> ResponseAnalysis:
    return ResponseAnalysis(
        identity=identity,
        key=None if identity is None else key_of(identity.model_name),
        code=code,
        score=None if code is None or probe is None else probe.scorer.score(code),
        known=identity is not None and known(identity.model_name),
        wrapper=identity is not None and is_wrapper(identity.model_name),
        verdict=verdict,
        reason=reason,
    )
