"""The inventory view: models with their sightings, and separately the claimed names that are not models.

A sighting of a model is an attempt that was accepted or a repeat, and whose answer claimed that model. A wrapper or an
unresolved name is sighted in every attempt that claims it. Endpoints may report other models: they are shown beside the
claims.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

import msgspec
import numpy as np

from ledger import moment_of
from projections.arrays import RowNumbers, row_numbers_by_group, sum_by_name
from projections.discovery.attempt_index import AttemptColumns
from projections.discovery.identity_conflicts import (
    NO_NAME,
    Claims,
    IdenticalOutputs,
    IdentityConflictRow,
    count_claims,
    find_identical_outputs,
    find_identity_conflicts,
    resolve_claims,
)
from projections.discovery.model_names import Kind, ResolvedName

RUNS_SHOWN = 50
"""A list has at most so many runs or attempts, the newest ones. The inventory of a single model lists all."""

_NOWHERE = np.zeros(0, dtype=np.intp)


class RunSightings(msgspec.Struct, frozen=True, kw_only=True):
    """The number of sightings in one run."""

    run_id: str
    sightings: int


class SightingsByRouter(msgspec.Struct, frozen=True, kw_only=True):
    """The number of sightings and runs with one router. `router` is None if it is unknown."""

    router: str | None
    sightings: int
    runs: int


class Sightings(msgspec.Struct, frozen=True, kw_only=True):
    """The sightings of a key: counts of the names as written; runs, the newest first; and routers."""

    key: str
    sightings: int
    claims: dict[str, int]
    providers: dict[str, int]
    versions: dict[str, int]
    hosts: dict[str, int]
    reported: dict[str, int]
    runs: int
    by_run: list[RunSightings]
    by_router: list[SightingsByRouter]
    first_seen: datetime | None
    last_seen: datetime | None


class InventoryModel(Sightings, frozen=True, kw_only=True):
    """A model that was sighted, registered, or requested by its name.

    `name`, `provider`, `note` and `aliases` are as its owner registered them. `requested` counts the attempts of runs
    that requested it from their router, `refused` the refused ones among these.
    """

    known: bool
    name: str | None
    provider: str | None
    note: str | None
    aliases: list[str]
    requested: int
    refused: int


class UnnamedClaims(Sightings, frozen=True, kw_only=True):
    """The sightings of a claimed name that is not a model: a wrapper, or unresolved."""


class RouterSightings(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a router: runs, attempts by outcome, and number of models."""

    router: str | None
    runs: int
    attempts: int
    outcomes: dict[str, int]
    models: int
    last_seen: datetime | None


class InventoryView(msgspec.Struct, frozen=True, kw_only=True):
    """The inventory: models, the most sighted first; other claimed names; identity conflicts; and routers."""

    models: list[InventoryModel]
    wrappers: list[UnnamedClaims]
    unresolved: list[UnnamedClaims]
    contradictions: list[IdentityConflictRow]
    identical: list[IdenticalOutputs]
    routers: list[RouterSightings]
    runs: int
    attempts: int


_Row = TypeVar("_Row", InventoryModel, UnnamedClaims)


def build_inventory(attempts: AttemptColumns, model: str | None = None) -> InventoryView:
    """Build the inventory of all models, or of one model by any of its names."""
    claims = resolve_claims(attempts)
    selected = None if model is None else attempts.names.resolve(model)
    limit = RUNS_SHOWN if selected is None else len(attempts.run)
    rows = dict(zip(claims.names, row_numbers_by_group(claims.counted, len(claims.names)), strict=True))
    return InventoryView(
        models=_ranked(_models(attempts, rows, selected, limit)),
        wrappers=_ranked(_unnamed(attempts, rows, "wrapper", selected, limit)),
        unresolved=_ranked(_unnamed(attempts, rows, "unresolved", selected, limit)),
        contradictions=find_identity_conflicts(attempts, selected, limit),
        identical=find_identical_outputs(attempts, claims, selected, limit),
        routers=_routers(attempts, claims),
        runs=len(attempts.runs),
        attempts=len(attempts.run),
    )


def _models(
    attempts: AttemptColumns, rows: Mapping[ResolvedName, RowNumbers], selected: ResolvedName | None, limit: int
) -> Iterator[InventoryModel]:
    """Yield every model that was sighted, registered or requested."""
    names = attempts.names
    requested, refused = _requests(attempts)
    keys = {name.key for name, row_numbers in rows.items() if name.kind == "model" and len(row_numbers)}
    for key in keys | set(names.models) | set(requested):
        if selected in (None, ResolvedName("model", key)):
            registered = names.models.get(key)
            yield InventoryModel(
                key=key,
                known=registered is not None,
                name=None if registered is None else registered.name,
                provider=None if registered is None else registered.provider,
                note=None if registered is None else registered.note,
                aliases=names.aliases(key),
                requested=requested[key],
                refused=refused[key],
                **_sightings(attempts, rows.get(ResolvedName("model", key), _NOWHERE), limit),
            )


def _requests(attempts: AttemptColumns) -> tuple[Counter[str], Counter[str]]:
    """Count by model the attempts of runs that requested it, and the refused ones among these."""
    request = attempts.run_request[attempts.run]
    refusal = np.array([outcome == "refused" for outcome, _, _ in attempts.claims], dtype=bool)[attempts.claim]
    size = len(attempts.requests)
    requested: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    totals, refusals = np.bincount(request, minlength=size), np.bincount(request[refusal], minlength=size)
    for (_, model), n, n_refused in zip(attempts.requests, totals.tolist(), refusals.tolist(), strict=True):
        if model is not None and (name := attempts.names.resolve(model)).kind == "model":
            requested[name.key] += n
            refused[name.key] += n_refused
    return requested, refused


def _unnamed(
    attempts: AttemptColumns,
    rows: Mapping[ResolvedName, RowNumbers],
    kind: Kind,
    selected: ResolvedName | None,
    limit: int,
) -> Iterator[UnnamedClaims]:
    for name, row_numbers in rows.items():
        if name.kind == kind and selected in (None, name):
            yield UnnamedClaims(key=name.key, **_sightings(attempts, row_numbers, limit))


def _sightings(attempts: AttemptColumns, row_numbers: RowNumbers, limit: int) -> dict[str, Any]:
    """Return the fields of `Sightings` for some attempts."""
    claims = count_claims(attempts, row_numbers)
    identities = [(identity, n) for (_, identity, _), n in claims if identity is not None]
    runs, inverse, sizes = np.unique(attempts.run[row_numbers], return_inverse=True, return_counts=True)
    times = attempts.time_us[row_numbers]
    last = np.full(len(runs), np.iinfo(np.int64).min)
    np.maximum.at(last, inverse, times)
    newest = np.lexsort((runs, last))[::-1][:limit].tolist()
    return {
        "sightings": len(row_numbers),
        "claims": sum_by_name((identity.model_name, n) for identity, n in identities),
        "providers": sum_by_name((identity.provider, n) for identity, n in identities),
        "versions": sum_by_name((identity.version, n) for identity, n in identities),
        "hosts": sum_by_name((identity.wrapper, n) for identity, n in identities),
        "reported": sum_by_name((reported, n) for (_, _, reported), n in claims),
        "runs": len(runs),
        "by_run": [RunSightings(run_id=attempts.runs[runs[index]], sightings=int(sizes[index])) for index in newest],
        "by_router": _by_router(attempts, runs.tolist(), sizes.tolist()),
        "first_seen": moment_of(int(times.min())) if len(times) else None,
        "last_seen": moment_of(int(times.max())) if len(times) else None,
    }


def _by_router(attempts: AttemptColumns, runs: list[int], sizes: list[int]) -> list[SightingsByRouter]:
    sightings: Counter[str | None] = Counter()
    runs_of: Counter[str | None] = Counter()
    for run, size in zip(runs, sizes, strict=True):
        router = attempts.requests[attempts.run_request[run]][0]
        sightings[router] += size
        runs_of[router] += 1
    rows = (SightingsByRouter(router=router, sightings=sightings[router], runs=runs_of[router]) for router in sightings)
    return sorted(rows, key=lambda row: (-row.sightings, row.router is None, row.router or ""))


def _routers(attempts: AttemptColumns, claims: Claims) -> list[RouterSightings]:
    """Return the results of each router, the one with the most attempts first."""
    numbers = {router: number for number, router in enumerate(dict.fromkeys(router for router, _ in attempts.requests))}
    request_router = np.array([numbers[router] for router, _ in attempts.requests], dtype=np.uint32)
    run_router = request_router[attempts.run_request]
    runs = np.bincount(run_router, minlength=len(numbers)).tolist()
    is_model = np.array([name.kind == "model" for name in claims.names], dtype=bool)
    rows = []
    for router, row_numbers in zip(numbers, row_numbers_by_group(run_router[attempts.run], len(numbers)), strict=True):
        sighted = np.unique(claims.counted[row_numbers])
        rows.append(
            RouterSightings(
                router=router,
                runs=runs[numbers[router]],
                attempts=len(row_numbers),
                outcomes=sum_by_name((outcome, n) for (outcome, _, _), n in count_claims(attempts, row_numbers)),
                models=int(is_model[sighted[sighted != NO_NAME]].sum()),
                last_seen=moment_of(int(attempts.time_us[row_numbers].max())) if len(row_numbers) else None,
            )
        )
    return sorted(rows, key=lambda row: (-row.attempts, row.router is None, row.router or ""))


def _ranked(rows: Iterable[_Row]) -> list[_Row]:
    return sorted(rows, key=lambda row: (-row.sightings, row.key))
