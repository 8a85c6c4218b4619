"""Identity conflicts: an answer claims another model than the endpoint reports, or several names give one output."""

from collections import Counter
from collections.abc import Callable, Mapping
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


class RowLimits(NamedTuple):
    """Which rows of a list to build: `size` from `start` on, None: all; each row has up to `inner` attempts or runs."""

    start: int
    size: int | None
    inner: int

    @property
    def part(self) -> slice:
        """The rows of the list."""
        return slice(self.start, None if self.size is None else self.start + self.size)


NameFilter = Callable[[ResolvedName], bool]
"""Tells whether a name is to be listed."""


class IdentityConflicts(NamedTuple):
    """The conflicts within some limits, the number of all, and the number of contradicted sightings by claimed key."""

    rows: list[IdentityConflictRow]
    total: int
    contradicted: Mapping[str, int]


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


def find_identity_conflicts(attempts: AttemptColumns, passes: NameFilter, limits: RowLimits) -> IdentityConflicts:
    """Find the pairs of different models that answers claim and endpoints report, the most frequent first.

    A dated or prefixed name of the same model is not a conflict. A pair is listed if one of its models passes.
    """
    pair_of = np.full(len(attempts.claims), NO_NAME, dtype=np.uint32)
    pairs: dict[tuple[str, str], int] = {}
    for number, (outcome, claimed, reported) in enumerate(attempts.claims):
        if claimed is not None and reported is not None and outcome in SIGHTED_OUTCOMES:
            claimed_name, reported_name = attempts.names.resolve(claimed.model_name), attempts.names.resolve(reported)
            if (
                claimed_name.kind == reported_name.kind == "model"
                and claimed_name != reported_name
                and (passes(claimed_name) or passes(reported_name))
            ):
                pair_of[number] = pairs.setdefault((claimed_name.key, reported_name.key), len(pairs))
    groups = zip(pairs, row_numbers_by_group(pair_of[attempts.claim], len(pairs)), strict=True)
    ranked = sorted((group for group in groups if len(group[1])), key=lambda group: (-len(group[1]), group[0]))
    contradicted: Counter[str] = Counter()
    for (claimed_key, _), rows in ranked:
        contradicted[claimed_key] += len(rows)
    shown = [_contradiction(attempts, *group, limits.inner) for group in ranked[limits.part]]
    return IdentityConflicts(shown, len(ranked), contradicted)


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
    attempts: AttemptColumns, claims: Claims, passes: NameFilter, limits: RowLimits
) -> tuple[list[IdenticalOutputs], int]:
    """Find the outputs that were given under several claimed names, the one with the most names first.

    Return the outputs within the limits, and the number of all. An output is listed if one of its names passes.
    """
    usable = (claims.claimed != NO_NAME) & (attempts.digest != b"") & (attempts.digest != _EMPTY)
    usable_rows = np.flatnonzero(usable)
    usable_rows = usable_rows[_may_repeat(attempts.digest[usable_rows])]
    digests, numbers = np.unique(attempts.digest[usable_rows], return_inverse=True)
    names = claims.claimed[usable_rows].astype(np.int64)
    pairs = np.unique(np.stack([numbers.astype(np.int64), names]), axis=1)
    listed = np.array([passes(name) for name in claims.names], dtype=bool)
    n_names = np.bincount(pairs[0], minlength=len(digests))
    n_listed = np.bincount(pairs[0][listed[pairs[1]]], minlength=len(digests))
    shared = np.flatnonzero((n_names > 1) & (n_listed > 0))
    ranked = shared[np.lexsort((shared, -n_names[shared]))]  # digests are in ascending order
    part = ranked[limits.part]
    part_number = np.full(len(digests), NO_NAME, dtype=np.uint32)
    part_number[part] = np.arange(len(part))
    rows = [
        IdenticalOutputs(
            output_digest=bytes(digests[number]).ljust(DIGEST_BYTES, b"\0").hex(),
            answers=_answers(attempts, claims, usable_rows[selected], limits.inner),
        )
        for number, selected in zip(part, row_numbers_by_group(part_number[numbers], len(part)), strict=True)
    ]
    return rows, len(ranked)


def _may_repeat(digests: npt.NDArray[np.bytes_]) -> npt.NDArray[np.bool_]:
    """Return where a digest begins like another one. Comparing 8 bytes as a number is much faster than all 32."""
    heads = np.ascontiguousarray(digests).view(np.uint64)[:: DIGEST_BYTES // 8]
    ordered = np.sort(heads)
    return np.isin(heads, ordered[1:][ordered[1:] == ordered[:-1]])


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
