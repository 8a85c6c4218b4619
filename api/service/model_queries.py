"""Use cases of models: which models answered, which are registered, and their probe scores."""

import msgspec
from msgspec import UNSET, UnsetType

from api.service.ledger import View
from api.service.model_figures import ModelFigures, compute_model_figures, is_empty_of_figures
from api.service.operation import operation
from api.service.unknown_names import UnknownNames, find_unknown_names
from ledger.threads import run_on_thread
from projections.discovery.attempt_index import AttemptColumns, AttemptIndex
from projections.discovery.model_inventory import InventoryModel, InventoryView, build_inventory
from projections.discovery.model_names import ModelNames
from projections.discovery.probe_score_index import ProbeScoreColumns, ProbeScoreIndex
from projections.discovery.probe_score_tables import ProbeScores, build_score_tables
from projections.discovery.query_params import InventoryQuery, ProbeScoreQuery
from projections.sessions.program_sessions import describe_programs
from projections.sessions.session_index import SessionIndex
from tallystick.shapes.parts import AsOf
from tallystick.shapes.sessions import SessionModels


class InventoryAnswer(InventoryView, frozen=True, kw_only=True):
    """The inventory of models, as of a position."""

    as_of: AsOf
    unknown_names: UnknownNames = UNSET
    figures: ModelFigures | UnsetType = UNSET
    """How good the model is; absent unless one model was requested."""
    sessions: list[SessionModels] | UnsetType = UNSET
    """The models that answered in recorded sessions of coding agents; absent without one, or with a filter."""


class ProbesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Score tables by probe and scorer, as of a position."""

    probes: list[ProbeScores]
    as_of: AsOf
    unknown_names: UnknownNames = UNSET


class ModelList(msgspec.Struct, frozen=True, kw_only=True):
    """The registered models with their sightings, as of a position."""

    models: list[InventoryModel]
    as_of: AsOf


@operation("/inventory", "models", heavy=True)
async def get_inventory(view: View, params: InventoryQuery) -> InventoryAnswer:
    """List the models that answered, each with its evidence.

    The inventory lists host products, and answers that name no model, separately. It compares the name that a model
    claims with the name that the endpoint reports, and finds the same output under several names. With `limit`, each
    list is a page, and `totals` has the number of all rows.
    """
    projection, position = await view.at(AttemptIndex, also=(SessionIndex,))
    attempts, model = projection.attempts(), params.model
    recorded = (await view.beside(SessionIndex)).copy() if model is params.router is None else SessionIndex()
    programs = await run_on_thread(describe_programs, recorded)
    sessions = [SessionModels(program=one.program, models=one.models) for one in programs]
    inventory = await run_on_thread(build_inventory, attempts, params)
    fields = {name: getattr(inventory, name) for name in inventory.__struct_fields__}
    is_empty = not (inventory.models or inventory.wrappers or inventory.unresolved)
    known = {"model": await run_on_thread(_model_names, attempts) if is_empty and model is not None else set()}
    known["router"] = {row.router for row in inventory.routers if row.router is not None}
    unknown = find_unknown_names({"model": model, "router": params.router}, known) if is_empty else UNSET
    figures = UNSET if model is None else await compute_model_figures(view, model)
    if figures is not UNSET and not is_empty_of_figures(figures):
        unknown = UNSET
    return InventoryAnswer(
        **fields,
        as_of=await view.dated(position),
        unknown_names=unknown,
        figures=figures,
        sessions=sessions or UNSET,
    )


def _model_names(attempts: AttemptColumns) -> set[str]:
    """Return the names of every model: keys and aliases of registered ones, requested and claimed names."""
    inventory = build_inventory(attempts)
    names = {name for model in inventory.models for name in (model.key, *model.aliases, *model.claims)}
    return names | {row.key for row in (*inventory.wrappers, *inventory.unresolved)}


def registered_models(inventory: InventoryAnswer) -> ModelList:
    """Return the registered models of an inventory."""
    models = sorted((model for model in inventory.models if model.known), key=lambda model: model.key)
    return ModelList(models=models, as_of=inventory.as_of)


@operation("/probes", "models", heavy=True)
async def get_probes(view: View, params: ProbeScoreQuery) -> ProbesAnswer:
    """Compare the models' scores on each probe, and test whether the probe distinguishes models.

    With `limit`, the models of each table are a page, and `rows` is the number of all.
    """
    score_index, position = await view.at(ProbeScoreIndex, also=(AttemptIndex,))
    scores = score_index.scores()
    names = (await view.beside(AttemptIndex)).names.copy()
    tables = await run_on_thread(build_score_tables, scores, names, params)
    is_empty = not any(table.models for table in tables)
    unknown = _unknown_score_names(scores, names, params) if is_empty else UNSET
    return ProbesAnswer(probes=tables, as_of=await view.dated(position), unknown_names=unknown)


def _unknown_score_names(scores: ProbeScoreColumns, names: ModelNames, query: ProbeScoreQuery) -> UnknownNames:
    """Return the names of a filter that no score has. A model has all names that mean it."""
    known: dict[str, set[str]] = {"probe": set(), "scorer": set(), "model": set(names.models)}
    for probe, probe_version, scorer, scorer_version, model, _ in scores.facts_table:
        known["probe"] |= {probe, f"{probe}@{probe_version}"}
        known["scorer"] |= {scorer, f"{scorer}@{scorer_version}"}
        if model is not None:
            known["model"].add(model)
    if query.model is not None and names.resolve(query.model) in map(names.resolve, known["model"]):
        known["model"].add(query.model)
    return find_unknown_names({"probe": query.probe, "scorer": query.scorer, "model": query.model}, known)
