"""Classify one answer: the identity it claims, the part to score, and whether it counts."""

import re
from collections.abc import Callable
from typing import Literal

import msgspec

from events import ModelIdentity, canonical, is_unresolved, is_wrapper, key_of
from instruments.discovery.code_fences import split_blocks
from instruments.discovery.identity_parser import IdentityClaim, find_identities
from instruments.discovery.prompts import REFUSAL
from instruments.discovery.scored_output import extract_output, mark_unfenced_code
from instruments.probes import Probe, ProbeScore

Verdict = Literal["identified", "wrapper", "refused", "empty", "unparsable"]

_ORNAMENT_CHARS = " \t\r\n*_>#~`\"'()[]{}.!:-"
_refusal = re.compile(rf"{REFUSAL}(?!-?\w)")
_LANGUAGES = {"go": "Go function", "python": "Python function", None: "text beside the identity"}
_escapes = re.compile(r"\x1b\[[0-9;?]*[@-~]")
_thought = re.compile(r"\s*<(think|thinking|reasoning)>")
_label = re.compile(r"\w{1,16}\s")


class ResponseAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """The analysis of one answer. It is deterministic: the same answer to the same probe gives the same analysis."""

    identity: ModelIdentity | None
    """The model that the answer claims to be; None if it claims none, or two. Source: the answer."""
    key: str | None
    """The identity's name in lower case. Source: the identity."""
    code: str | None
    """The part to score: code, or the text of the answer if the probe asks for text. Source: the answer."""
    score: ProbeScore | None
    """The score of that part. Source: the probe's scorer."""
    known: bool
    """Whether the owner registered this model. Source: the caller."""
    wrapper: bool
    """Whether the identity names a host (a wrapper) instead of a model. Source: the identity."""
    verdict: Verdict
    """`identified`: a model, with an answer to score; `wrapper`: a host's name; `refused`; `empty`; or `unparsable`."""
    reason: str
    """The reason for the verdict, in words. Source: the parser."""


def analyze(answer: str | None, probe: Probe, known: Callable[[str], bool] = lambda name: False) -> ResponseAnalysis:
    """Classify an answer to a probe's prompt in time linear in its length; never raise.

    The identity keeps a name such as `unknown`, but the verdict is then `unparsable`: such a name identifies no model,
    and excluding it would exclude none.

    Args:
        answer: the whole answer; None if the router gave none.
        probe: the task in the prompt, and its scorer.
        known: tells whether the owner registered a model of this name.
    """
    text = _strip_preamble((answer or "").encode(errors="replace").decode())
    if not any(letter.isprintable() and letter not in _ORNAMENT_CHARS for letter in text):
        return _analysis("empty", "the answer is empty")
    if _is_refusal(text):
        return _analysis("refused", f"the answer begins with {REFUSAL}")
    found = find_identities(mark_unfenced_code(split_blocks(text), probe))
    identity, complaint = _resolve_claims(found)
    if found.rest and found.rest[0].text and _is_refusal(found.rest[0].text) and identity is not None:
        return _analysis("refused", f"the answer is {REFUSAL} beside an identity", identity)
    code = extract_output(found.rest, probe)
    verdict, reason = _verdict(identity, complaint, code, probe)
    return _analysis(verdict, reason, identity, code, probe, known)


def _strip_preamble(text: str) -> str:
    """Return the answer without byte order mark, terminal colours and a leading block of thinking."""
    visible = _escapes.sub("", text.removeprefix("\ufeff"))
    thinking = _thought.match(visible)
    end = -1 if thinking is None else visible.find(f"</{thinking[1]}>", thinking.end())
    return visible if thinking is None or end < 0 else visible[end + len(thinking[1]) + 3 :]


def _is_refusal(text: str) -> bool:
    """Whether a text begins with the refusal word, after ornament or in a fence, or is that word alone in any case."""
    bare = text.lstrip(_ORNAMENT_CHARS)
    ornament = text[: len(text) - len(bare)]
    label = _label.match(bare) if ornament.endswith(("```", "~~~")) else None
    if label is not None and _refusal.match(bare) is None:
        bare = bare[label.end() :].lstrip(_ORNAMENT_CHARS)
    return _refusal.match(bare) is not None or bare[:64].rstrip(_ORNAMENT_CHARS).upper() == REFUSAL


def _resolve_claims(found: IdentityClaim) -> tuple[ModelIdentity | None, str]:
    """Return the one identity that the claims agree on, and a complaint if it is missing or names no model.

    Several names of one model count as one claim, spelled as in the first. A name of a model wins over `unknown` and
    the like. The placeholders of the prompt itself are ignored.
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


def _verdict(identity: ModelIdentity | None, complaint: str, code: str | None, probe: Probe) -> tuple[Verdict, str]:
    """Return the verdict on an answer that is neither empty nor a refusal, and the reason."""
    if identity is None or complaint:
        return "unparsable", complaint
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
