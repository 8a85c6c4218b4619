"""What does not fit together: a claim against what the endpoint reports, and one output under several names."""

from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from projections.arrays import Places, group_places, sum_by_name
from projections.discovery.model_names import Kind, ResolvedName
from projections.discovery.sighting_index import DIGEST_BYTES, AttemptClaim, AttemptColumns

SIGHTED_OUTCOMES = ("accepted", "repeat")
"""Outcomes of an attempt whose answer named a model."""

NO_NAME = 0xFFFFFFFF
"""Stands for the name in an attempt that claims none, or that does not count."""

_EMPTY = bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855").rstrip(b"\0")
"""The digest of no output at all, which any two models may give."""


class AttemptPlace(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt of a run, 1-based."""

    run_id: str
    attempt: int


class IdentityConflictRow(msgspec.Struct, frozen=True, kw_only=True):
    """The answer claims one model and the endpoint reports another: keys, names as written, how often, and where."""

    claimed: str
    reported: str
    claims: dict[str, int]
    reports: dict[str, int]
    sightings: int
    where: list[AttemptPlace]


class SameAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How often, and where, a name gave an output."""

    kind: Kind
    key: str
    count: int
    where: list[AttemptPlace]


class IdenticalOutputs(msgspec.Struct, frozen=True, kw_only=True):
    """One output, byte for byte, under several names: one author behind them, unless there is little to say."""

    output_digest: str
    answers: list[SameAnswer]


class Claims(NamedTuple):
    """What the names of all claims come to, and by attempt the number of its name: of any, and of those that count."""

    named: list[ResolvedName]
    claimed: npt.NDArray[np.uint32]
    counted: npt.NDArray[np.uint32]


def resolve_claims(attempts: AttemptColumns) -> Claims:
    """Look every claimed name up, once.

    A model's name counts in an attempt that was accepted or repeated, any other in every attempt.
    """
    numbers: dict[ResolvedName, int] = {}
    claimed = np.full(len(attempts.claims), NO_NAME, dtype=np.uint32)
    counted = claimed.copy()
    for place, (outcome, identity, _) in enumerate(attempts.claims):
        if identity is not None:
            name = attempts.names.resolve(identity.model_name)
            claimed[place] = numbers.setdefault(name, len(numbers))
            if outcome in SIGHTED_OUTCOMES or name.kind != "model":
                counted[place] = claimed[place]
    return Claims(list(numbers), claimed[attempts.claim], counted[attempts.claim])


def find_contradictions(attempts: AttemptColumns, wanted: ResolvedName | None, most: int) -> list[IdentityConflictRow]:
    """Where claim and endpoint name two models; a dated or prefixed name of the same one is no other."""
    pair_of = np.full(len(attempts.claims), NO_NAME, dtype=np.uint32)
    pairs: dict[tuple[str, str], int] = {}
    for number, (outcome, claimed, reported) in enumerate(attempts.claims):
        if claimed is not None and reported is not None and outcome in SIGHTED_OUTCOMES:
            one, other = attempts.names.resolve(claimed.model_name), attempts.names.resolve(reported)
            if one.kind == other.kind == "model" and one != other and wanted in (None, one, other):
                pair_of[number] = pairs.setdefault((one.key, other.key), len(pairs))
    places = group_places(pair_of[attempts.claim], len(pairs))
    made = [_contradiction(attempts, pair, own, most) for pair, own in zip(pairs, places, strict=True)]
    return sorted(made, key=lambda one: (-one.sightings, one.claimed, one.reported))


def _contradiction(attempts: AttemptColumns, pair: tuple[str, str], places: Places, most: int) -> IdentityConflictRow:
    told = count_claims(attempts, places)
    return IdentityConflictRow(
        claimed=pair[0],
        reported=pair[1],
        claims=sum_by_name((None if identity is None else identity.model_name, n) for (_, identity, _), n in told),
        reports=sum_by_name((reported, n) for (_, _, reported), n in told),
        sightings=len(places),
        where=attempt_places(attempts, places, most),
    )


def find_identical_outputs(
    attempts: AttemptColumns, claims: Claims, wanted: ResolvedName | None, most: int
) -> list[IdenticalOutputs]:
    """Outputs that several names gave, that of the most names first; any attempt that claims a name counts."""
    there = (claims.claimed != NO_NAME) & (attempts.digest != b"") & (attempts.digest != _EMPTY)
    told = np.flatnonzero(there)
    digests, numbers = np.unique(attempts.digest[told], return_inverse=True)
    names = claims.claimed[told].astype(np.int64)
    pairs = np.unique(np.stack([numbers.astype(np.int64), names]), axis=1)
    several = np.flatnonzero(np.bincount(pairs[0], minlength=len(digests)) > 1)
    place = np.full(len(digests), NO_NAME, dtype=np.uint32)
    place[several] = np.arange(len(several))
    made = []
    for number, chosen in zip(several, group_places(place[numbers], len(several)), strict=True):
        digest = bytes(digests[number]).ljust(DIGEST_BYTES, b"\0").hex()
        answers = _answers(attempts, claims, told[chosen], most)
        if wanted is None or any((answer.kind, answer.key) == wanted for answer in answers):
            made.append(IdenticalOutputs(output_digest=digest, answers=answers))
    return sorted(made, key=lambda one: (-len(one.answers), one.output_digest))


def _answers(attempts: AttemptColumns, claims: Claims, places: Places, most: int) -> list[SameAnswer]:
    names = claims.claimed[places]
    made = []
    for number in np.unique(names).tolist():
        own, name = places[names == number], claims.named[number]
        made.append(SameAnswer(kind=name.kind, key=name.key, count=len(own), where=attempt_places(attempts, own, most)))
    return sorted(made, key=lambda answer: (-answer.count, answer.kind, answer.key))


def count_claims(attempts: AttemptColumns, places: Places) -> list[tuple[AttemptClaim, int]]:
    """What some attempts claim and came to, and how often."""
    claims, counts = np.unique(attempts.claim[places], return_counts=True)
    return [(attempts.claims[claim], n) for claim, n in zip(claims.tolist(), counts.tolist(), strict=True)]


def attempt_places(attempts: AttemptColumns, places: Places, most: int) -> list[AttemptPlace]:
    """Some attempts, the newest in the log first."""
    return [
        AttemptPlace(run_id=attempts.runs[attempts.run[place]], attempt=int(attempts.number[place]))
        for place in places[::-1][:most].tolist()
    ]
