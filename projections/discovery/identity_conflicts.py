"""Identity conflicts: an answer claims another model than the endpoint reports, or several names give one output."""

from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from projections.arrays import RowNumbers, row_numbers_by_group, sum_by_name
from projections.discovery.attempt_index import DIGEST_BYTES, AttemptClaim, AttemptColumns
from projections.discovery.model_names import Kind, ResolvedName

SIGHTED_OUTCOMES = ("accepted", "repeat")
"""Outcomes of attempts whose answer names a model."""

NO_NAME = 0xFFFFFFFF
"""The number of the name in an attempt that claims none, or whose claim is not counted."""

_EMPTY = bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855").rstrip(b"\0")
"""The digest of an empty output. It is left out, because any two models may give it."""


class AttemptPlace(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt of a run, numbered from 1."""

    run_id: str
    attempt: int


class IdentityConflictRow(msgspec.Struct, frozen=True, kw_only=True):
    """Attempts in which the answer claims one model and the endpoint reports another.

    `claims` and `reports` count the names as they were written.
    """

    claimed: str
    reported: str
    claims: dict[str, int]
    reports: dict[str, int]
    sightings: int
    where: list[AttemptPlace]


class SameAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The attempts in which a name gave an output."""

    kind: Kind
    key: str
    count: int
    where: list[AttemptPlace]


class IdenticalOutputs(msgspec.Struct, frozen=True, kw_only=True):
    """The same output, byte for byte, under several names. Unless it is very short, one model probably gave it."""

    output_digest: str
    answers: list[SameAnswer]


class Claims(NamedTuple):
    """The resolved names, and for each attempt the index of its name in `names` or NO_NAME.

    `claimed` has every claim, `counted` only those that are counted as sightings.
    """

    names: list[ResolvedName]
    claimed: npt.NDArray[np.uint32]
    counted: npt.NDArray[np.uint32]


def resolve_claims(attempts: AttemptColumns) -> Claims:
    """Resolve each claimed name once.

    The name of a model is counted in attempts that were accepted or a repeat, any other name in every attempt.
    """
    numbers: dict[ResolvedName, int] = {}
    claimed = np.full(len(attempts.claims), NO_NAME, dtype=np.uint32)
    counted = claimed.copy()
    for number, (outcome, identity, _) in enumerate(attempts.claims):
        if identity is not None:
            name = attempts.names.resolve(identity.model_name)
            claimed[number] = numbers.setdefault(name, len(numbers))
            if outcome in SIGHTED_OUTCOMES or name.kind != "model":
                counted[number] = claimed[number]
    return Claims(list(numbers), claimed[attempts.claim], counted[attempts.claim])


def find_identity_conflicts(
    attempts: AttemptColumns, model: ResolvedName | None, limit: int
) -> list[IdentityConflictRow]:
    """Find the pairs of different models that answers claim and endpoints report, the most frequent first.

    A dated or prefixed name of the same model is not a conflict. With `model`, return only conflicts of that model.
    """
    pair_of = np.full(len(attempts.claims), NO_NAME, dtype=np.uint32)
    pairs: dict[tuple[str, str], int] = {}
    for number, (outcome, claimed, reported) in enumerate(attempts.claims):
        if claimed is not None and reported is not None and outcome in SIGHTED_OUTCOMES:
            claimed_name, reported_name = attempts.names.resolve(claimed.model_name), attempts.names.resolve(reported)
            if (
                claimed_name.kind == reported_name.kind == "model"
                and claimed_name != reported_name
                and model in (None, claimed_name, reported_name)
            ):
                pair_of[number] = pairs.setdefault((claimed_name.key, reported_name.key), len(pairs))
    rows_by_pair = zip(pairs, row_numbers_by_group(pair_of[attempts.claim], len(pairs)), strict=True)
    conflicts = [_contradiction(attempts, pair, pair_rows, limit) for pair, pair_rows in rows_by_pair]
    return sorted(conflicts, key=lambda row: (-row.sightings, row.claimed, row.reported))


def _contradiction(
    attempts: AttemptColumns, pair: tuple[str, str], rows: RowNumbers, limit: int
) -> IdentityConflictRow:
    claims = count_claims(attempts, rows)
    return IdentityConflictRow(
        claimed=pair[0],
        reported=pair[1],
        claims=sum_by_name((None if identity is None else identity.model_name, n) for (_, identity, _), n in claims),
        reports=sum_by_name((reported, n) for (_, _, reported), n in claims),
        sightings=len(rows),
        where=attempt_references(attempts, rows, limit),
    )


def find_identical_outputs(
    attempts: AttemptColumns, claims: Claims, model: ResolvedName | None, limit: int
) -> list[IdenticalOutputs]:
    """Find the outputs that were given under several claimed names, the one with the most names first."""
    usable = (claims.claimed != NO_NAME) & (attempts.digest != b"") & (attempts.digest != _EMPTY)
    usable_rows = np.flatnonzero(usable)
    digests, numbers = np.unique(attempts.digest[usable_rows], return_inverse=True)
    names = claims.claimed[usable_rows].astype(np.int64)
    pairs = np.unique(np.stack([numbers.astype(np.int64), names]), axis=1)
    shared = np.flatnonzero(np.bincount(pairs[0], minlength=len(digests)) > 1)
    shared_number = np.full(len(digests), NO_NAME, dtype=np.uint32)
    shared_number[shared] = np.arange(len(shared))
    rows = []
    for number, selected in zip(shared, row_numbers_by_group(shared_number[numbers], len(shared)), strict=True):
        digest = bytes(digests[number]).ljust(DIGEST_BYTES, b"\0").hex()
        answers = _answers(attempts, claims, usable_rows[selected], limit)
        if model is None or any((answer.kind, answer.key) == model for answer in answers):
            rows.append(IdenticalOutputs(output_digest=digest, answers=answers))
    return sorted(rows, key=lambda row: (-len(row.answers), row.output_digest))


def _answers(attempts: AttemptColumns, claims: Claims, attempt_rows: RowNumbers, limit: int) -> list[SameAnswer]:
    names = claims.claimed[attempt_rows]
    rows = []
    for number in np.unique(names).tolist():
        name_rows, name = attempt_rows[names == number], claims.names[number]
        where = attempt_references(attempts, name_rows, limit)
        rows.append(SameAnswer(kind=name.kind, key=name.key, count=len(name_rows), where=where))
    return sorted(rows, key=lambda answer: (-answer.count, answer.kind, answer.key))


def count_claims(attempts: AttemptColumns, attempt_rows: RowNumbers) -> list[tuple[AttemptClaim, int]]:
    """Count the different claims and outcomes of some attempts."""
    claims, counts = np.unique(attempts.claim[attempt_rows], return_counts=True)
    return [(attempts.claims[claim], n) for claim, n in zip(claims.tolist(), counts.tolist(), strict=True)]


def attempt_references(attempts: AttemptColumns, attempt_rows: RowNumbers, limit: int) -> list[AttemptPlace]:
    """Return up to `limit` attempts, the newest in the log first."""
    return [
        AttemptPlace(run_id=attempts.runs[attempts.run[row_number]], attempt=int(attempts.number[row_number]))
        for row_number in attempt_rows[::-1][:limit].tolist()
    ]
