"""Classify one answer: the identity that it claims, the part to score, and a verdict."""

import re
from typing import Literal, Protocol

import msgspec
from msgspec import UNSET, UnsetType, structs

from events.host_names import is_wrapper
from events.model import ModelIdentity
from events.model_names import canonical_name, claim_key, is_unresolved
from instruments.discovery.battery import Battery, read_parts
from instruments.discovery.identity_parser import IdentityClaims
from instruments.discovery.prompts import REFUSAL
from instruments.probes import Probe, ProbeScore, Unscored
from instruments.stored_text import storable_text

Verdict = Literal["identified", "wrapper", "refused", "empty", "unparsable"]

_REFUSAL_CHARS_MAX = 64
"""Characters that are compared with the refusal word, its ornament included."""

_ORNAMENT_CHARS = " \t\r\n*_>#~`\"'()[]{}.!:-"
_refusal_word = re.compile(rf"{REFUSAL}(?!-?\w)")
_REQUESTED_OUTPUT = {"go": "Go function", "python": "Python function", None: "text beside the identity"}
_terminal_escapes = re.compile(r"\x1b\[[0-9;?]*[@-~]")
_thinking_tag = re.compile(r"\s*<(think|thinking|reasoning)>")
_fence_label = re.compile(r"\w{1,16}\s")


class PartAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one probe of a battery."""

    probe_id: str
    """The probe. Source: the run."""
    code: str | None
    """The part to score; None if the answer has no such part. Source: the answer."""
    score: ProbeScore | None
    """Its score; a missing part is invalid. Source: the probe's scorer."""
    unscored: str | UnsetType = UNSET
    """Why the part was not scored; absent if it was. Source: the probe's scorer."""


class ResponseAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """The analysis of one answer. It is deterministic: the same answer to the same probe gives the same analysis."""

    identity: ModelIdentity | None
    """The model that the answer claims to come from; None if it claims none, or two. Source: the answer."""
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
    unscored: str | UnsetType = UNSET
    """Why the part was not scored; absent if it was, or if there is none. Source: the probe's scorer."""
    parts: tuple[PartAnalysis, ...] | UnsetType = UNSET
    """The answer to each probe of a battery; `code` and `score` are those of the first. Absent for a single probe."""


class NameRules(Protocol):
    """Says what claimed names mean: to the owner of a ledger, or by default."""

    def known(self, name: str) -> bool:
        """Whether the owner registered a model of this name."""
        ...

    def is_wrapper(self, name: str) -> bool:
        """Whether the name is a host's (a wrapper's), not a model's."""
        ...


class DefaultNames:
    """The rules without an owner: no model is registered, and hosts are those of the default list."""

    def known(self, name: str) -> bool:
        return False

    def is_wrapper(self, name: str) -> bool:
        return is_wrapper(name)


DEFAULT_NAMES = DefaultNames()


def analyze(answer: str | None, probe: Probe, names: NameRules = DEFAULT_NAMES) -> ResponseAnalysis:
    """Classify an answer to a probe's prompt in time linear in its length; never raise.

    A name such as `unknown` is kept in the identity, but the verdict is `unparsable`: excluding such a name from the
    next prompt would exclude no model.

    Args:
        answer: the whole answer; None if the router gave none.
        probe: the task in the prompt, and its scorer.
        names: what claimed names mean.
    """
    text = _strip_preamble(storable_text(answer or ""))
    if not any(letter.isprintable() and letter not in _ORNAMENT_CHARS for letter in text):
        return _analysis("empty", "the answer is empty")
    if _is_refusal(text):
        return _analysis("refused", f"the answer begins with {REFUSAL}")
    found, outputs = read_parts(text, probe)
    identity, complaint = _resolve_claims(found)
    if found.rest and found.rest[0].text and _is_refusal(found.rest[0].text) and identity is not None:
        return _analysis("refused", f"the answer is {REFUSAL} beside an identity", identity, names=names)
    code = None if not any(outputs) else outputs[0] or ""  # one part of a battery is an answer
    verdict, reason = _verdict(identity, complaint, code, probe, names)
    analysis = _analysis(verdict, reason, identity, code, probe, names)
    if code is None or not isinstance(probe, Battery):
        return analysis
    parts = [_part(each, output) for each, output in zip(probe.probes, outputs, strict=True)]
    return structs.replace(analysis, parts=tuple(parts))


def _part(probe: Probe, output: str | None) -> PartAnalysis:
    scored = probe.scorer.score(output or "")
    return PartAnalysis(
        probe_id=probe.id,
        code=output,
        score=scored if isinstance(scored, ProbeScore) else None,
        unscored=scored.reason if isinstance(scored, Unscored) else UNSET,
    )


def _strip_preamble(text: str) -> str:
    """Return the answer without byte order mark, terminal escapes and a leading block of thinking."""
    plain = _terminal_escapes.sub("", text.removeprefix("\ufeff"))
    thinking = _thinking_tag.match(plain)
    end = -1 if thinking is None else plain.find(f"</{thinking[1]}>", thinking.end())
    return plain if thinking is None or end < 0 else plain[end + len(f"</{thinking[1]}>") :]


def _is_refusal(text: str) -> bool:
    """Whether a text begins with the refusal word, after ornament or in a fence, or consists of it in any case."""
    bare = text.lstrip(_ORNAMENT_CHARS)
    ornament = text[: len(text) - len(bare)]
    label = _fence_label.match(bare) if ornament.endswith(("```", "~~~")) else None
    if label is not None and _refusal_word.match(bare) is None:
        bare = bare[label.end() :].lstrip(_ORNAMENT_CHARS)
    return _refusal_word.match(bare) is not None or bare[:_REFUSAL_CHARS_MAX].rstrip(_ORNAMENT_CHARS).upper() == REFUSAL


def _resolve_claims(extracted: IdentityClaims) -> tuple[ModelIdentity | None, str]:
    """Return the identity on which all claims agree, and a complaint if there is none or it names no model.

    Several spellings of one name are one claim, with the first spelling. The name of a model has precedence over
    `unknown` and the like. Placeholders of the prompt are ignored.
    """
    stated = [claim for claim in extracted.claims if not _is_placeholder(claim.model_name)]
    names = {
        canonical_name(claim.model_name): claim for claim in reversed(stated) if not is_unresolved(claim.model_name)
    }
    if len(names) > 1:
        first_two = " and ".join(repr(claim.model_name) for claim in list(reversed(names.values()))[:2])
        return None, f"the answer contradicts itself: it says it is {first_two}"
    if names:
        return next(iter(names.values())), ""
    if stated:
        return stated[0], f"its identity names no model: {stated[0].model_name!r}"
    if extracted.complaints:
        return None, f"no identity can be read from the answer: {extracted.complaints[0]}"
    if extracted.broken is not None:
        return None, extracted.broken
    return None, "the identity is the prompt's own placeholder" if extracted.claims else "no identity is in the answer"


def _is_placeholder(name: str) -> bool:
    return name[:1] == "<" and name[-1:] == ">"


def _verdict(
    identity: ModelIdentity | None, complaint: str, code: str | None, probe: Probe, names: NameRules
) -> tuple[Verdict, str]:
    """Return the verdict on an answer that is neither empty nor a refusal, and the reason."""
    if identity is None or complaint:
        return "unparsable", complaint
    if names.is_wrapper(identity.model_name):
        return "wrapper", f"{identity.model_name!r} is a host's name, not a model's"
    if code is None:
        requested = "part of the task" if isinstance(probe, Battery) else _REQUESTED_OUTPUT[probe.language]
        return "unparsable", f"no {requested} is in the answer"
    return "identified", f"it says it is {identity.model_name!r}"


def _analysis(
    verdict: Verdict,
    reason: str,
    identity: ModelIdentity | None = None,
    code: str | None = None,
    probe: Probe | None = None,
    names: NameRules = DEFAULT_NAMES,
) -> ResponseAnalysis:
    scored = None if code is None or probe is None else probe.scorer.score(code)
    return ResponseAnalysis(
        identity=identity,
        key=None if identity is None else claim_key(identity.model_name),
        code=code,
        score=scored if isinstance(scored, ProbeScore) else None,
        unscored=scored.reason if isinstance(scored, Unscored) else UNSET,
        known=identity is not None and names.known(identity.model_name),
        wrapper=identity is not None and names.is_wrapper(identity.model_name),
        verdict=verdict,
        reason=reason,
    )
