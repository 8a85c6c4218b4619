"""The inventory view: models with their sightings, and separately the claimed names that are not models.

A sighting of a model is an attempt that was accepted or a repeat, and whose answer claimed that model. A wrapper or an
unresolved name is sighted in every attempt that claims it. Endpoints may report other models: they are shown beside the
claims.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, UnsetType

from ledger.clock import moment_of
from projections.arrays import RowNumbers, row_numbers_by_group, sum_by_name
from projections.discovery.attempt_index import AttemptColumns
from projections.discovery.identity_conflicts import (
    NO_NAME,
    Claims,
    IdenticalOutputs,
    IdentityConflictRow,
    NameFilter,
    RowLimits,
    count_claims,
    find_identical_outputs,
    find_identity_conflicts,
    resolve_claims,
)
from projections.discovery.model_names import Kind, ModelNames, ResolvedName
from projections.discovery.query_params import InventoryQuery, ModelOrder

RUNS_SHOWN = 50
"""A list has at most so many runs or attempts, the newest ones. The inventory of a single model lists all."""

_NOWHERE = np.zeros(0, dtype=np.intp)


WHOLE_INVENTORY = InventoryQuery()


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

    `name`, `provider`, `version`, `note` and `aliases` are as its owner registered them; `version` is absent if none
    was stated. `requested` counts the attempts of runs that requested it from their router, `refused` the refused ones
    among these. `contradicted` counts the sightings in which the endpoint reported another model; it is absent if no
    limit was stated.
    """

    known: bool
    name: str | None
    provider: str | None
    note: str | None
    aliases: list[str]
    requested: int
    refused: int
    contradicted: int | UnsetType = UNSET
    version: str | UnsetType = UNSET


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


class InventoryTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The number of rows in each list of an inventory, of which a page shows some."""

    models: int
    wrappers: int
    unresolved: int
    contradictions: int
    identical: int


class InventoryView(msgspec.Struct, frozen=True, kw_only=True):
    """The inventory: models, the most sighted first; other claimed names; identity conflicts; and routers.

    `totals` is absent if the lists are complete, because no limit was stated.
    """

    models: list[InventoryModel]
    wrappers: list[UnnamedClaims]
    unresolved: list[UnnamedClaims]
    contradictions: list[IdentityConflictRow]
    identical: list[IdenticalOutputs]
    routers: list[RouterSightings]
    runs: int
    attempts: int
    totals: InventoryTotals | UnsetType = UNSET


_RowNumbersByName = Mapping[ResolvedName, RowNumbers]


def build_inventory(attempts: AttemptColumns, query: InventoryQuery = WHOLE_INVENTORY) -> InventoryView:
    """Build the inventory, or a part of it."""
    claims = resolve_claims(attempts)
    routers = _routers(attempts, claims)
    runs = len(attempts.runs)
    if query.router is not None:
        attempts, claims, runs = _of_router(attempts, claims, query.router)
    passes = _name_filter(attempts.names, query)
    is_complete = query.model is not None and query.limit is None
    limits = RowLimits(query.offset, query.limit, len(attempts.run) if is_complete else RUNS_SHOWN)
    rows = dict(zip(claims.names, row_numbers_by_group(claims.counted, len(claims.names)), strict=True))
    requested, refused = _requests(attempts)
    models = _rank(attempts, rows, _model_names(attempts, rows, requested, passes, query), query.sort)
    unnamed = {kind: _unnamed(attempts, rows, kind, passes, limits) for kind in ("wrapper", "unresolved")}
    conflicts = find_identity_conflicts(attempts, passes, limits)
    identical, n_identical = find_identical_outputs(attempts, claims, passes, limits)
    totals = InventoryTotals(
        models=len(models),
        wrappers=unnamed["wrapper"][1],
        unresolved=unnamed["unresolved"][1],
        contradictions=conflicts.total,
        identical=n_identical,
    )
    contradicted = None if query.limit is None else conflicts.contradicted
    return InventoryView(
        models=[
            _model(
                attempts.names,
                name.key,
                {
                    "requested": requested[name.key],
                    "refused": refused[name.key],
                    "contradicted": UNSET if contradicted is None else contradicted[name.key],
                    **_sightings(attempts, rows.get(name, _NOWHERE), limits.inner),
                },
            )
            for name in models[limits.part]
        ],
        wrappers=unnamed["wrapper"][0],
        unresolved=unnamed["unresolved"][0],
        contradictions=conflicts.rows,
        identical=identical,
        routers=routers,
        runs=runs,
        attempts=len(attempts.run),
        totals=UNSET if query.limit is None else totals,
    )


def count_sighted_models(attempts: AttemptColumns) -> int:
    """Return the number of models that were sighted."""
    claims = resolve_claims(attempts)
    numbers = np.unique(claims.counted).tolist()
    return sum(number != NO_NAME and claims.names[number].kind == "model" for number in numbers)


def _of_router(attempts: AttemptColumns, claims: Claims, router: str) -> tuple[AttemptColumns, Claims, int]:
    """Return the attempts of a router, their claims, and the number of its runs."""
    is_router = np.array([name == router for name, _ in attempts.requests], dtype=bool)
    runs = is_router[attempts.run_request]
    chosen = runs[attempts.run]
    columns = {name: getattr(attempts, name)[chosen] for name in ("run", "number", "time_us", "claim", "digest")}
    selected = Claims(claims.names, claims.claimed[chosen], claims.counted[chosen])
    return attempts._replace(**columns), selected, int(runs.sum())


def _name_filter(names: ModelNames, query: InventoryQuery) -> NameFilter:
    """Return the function that tells whether a query lists a name."""
    selected = None if query.model is None else names.resolve(query.model)
    search = None if query.search is None else query.search.casefold()

    def passes(name: ResolvedName) -> bool:
        model = names.models.get(name.key) if name.kind == "model" else None
        if selected not in (None, name) or (query.known is not None and query.known != (model is not None)):
            return False
        if search is None or search in name.key.casefold():
            return True
        written = () if model is None else (model.name or "", *names.aliases(name.key))
        return any(search in one.casefold() for one in written)

    return passes


def _model_names(
    attempts: AttemptColumns,
    rows: _RowNumbersByName,
    requested: Counter[str],
    passes: NameFilter,
    query: InventoryQuery,
) -> Iterable[ResolvedName]:
    """Return every model that was sighted or requested; without a router also the registered ones."""
    sighted = {name for name, row_numbers in rows.items() if name.kind == "model" and len(row_numbers)}
    keys = requested if query.router is None else +requested
    registered = attempts.names.models if query.router is None else ()
    return filter(passes, sighted | {ResolvedName("model", key) for key in (*keys, *registered)})


def _rank(
    attempts: AttemptColumns, rows: _RowNumbersByName, names: Iterable[ResolvedName], order: ModelOrder
) -> Sequence[ResolvedName]:
    """Sort names: the most sighted first, or the last seen, or by name."""

    def rank(name: ResolvedName) -> tuple[int, str]:
        row_numbers = rows.get(name, _NOWHERE)
        if order == "name" or not len(row_numbers):
            return 0, name.key
        return -(len(row_numbers) if order == "sightings" else int(attempts.time_us[row_numbers].max())), name.key

    return sorted(names, key=rank)


def _model(names: ModelNames, key: str, counts: Mapping[str, Any]) -> InventoryModel:
    registered = names.models.get(key)
    return InventoryModel(
        key=key,
        known=registered is not None,
        name=None if registered is None else registered.name,
        provider=None if registered is None else registered.provider,
        version=UNSET if registered is None or registered.version is None else registered.version,
        note=None if registered is None else registered.note,
        aliases=names.aliases(key),
        **counts,
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
    attempts: AttemptColumns, rows: _RowNumbersByName, kind: Kind, passes: NameFilter, limits: RowLimits
) -> tuple[list[UnnamedClaims], int]:
    """Return the claimed names of a kind within the limits, the most frequent first, and the number of all."""
    names = _rank(
        attempts, rows, (name for name in rows if name.kind == kind and len(rows[name]) and passes(name)), "sightings"
    )
    found = [
        UnnamedClaims(key=name.key, **_sightings(attempts, rows[name], limits.inner)) for name in names[limits.part]
    ]
    return found, len(names)


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
        "by_router": _by_router(attempts, runs, sizes),
        "first_seen": moment_of(int(times.min())) if len(times) else None,
        "last_seen": moment_of(int(times.max())) if len(times) else None,
    }


def _by_router(attempts: AttemptColumns, runs: npt.NDArray[np.uint32], sizes: RowNumbers) -> list[SightingsByRouter]:
    request = attempts.run_request[runs]
    sighted_by_request = np.bincount(request, weights=sizes)
    runs_by_request = np.bincount(request)
    sightings: Counter[str | None] = Counter()
    runs_of: Counter[str | None] = Counter()
    for number in np.flatnonzero(runs_by_request).tolist():
        router = attempts.requests[number][0]
        sightings[router] += int(sighted_by_request[number])
        runs_of[router] += int(runs_by_request[number])
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
