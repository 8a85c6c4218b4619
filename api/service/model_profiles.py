"""Use case: the profile of each model over all probes."""

import msgspec
from msgspec import UNSET

from api.service.ledger import View
from api.service.model_names import MODEL_NAMES, find_model_names
from api.service.operation import operation
from api.service.unknown_names import UnknownNames, find_unknown_names
from ledger.threads import run_on_thread
from projections.discovery.model_profiles import MODELS_MIN, ModelProfile, build_profiles
from projections.discovery.probe_score_index import ProbeScoreIndex
from projections.discovery.query_params import ProfileQuery
from tallystick.shapes.parts import AsOf


class ProfilesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The profiles of models, the best overall first, as of a position. A percentile needs `models_min` models."""

    profiles: list[ModelProfile]
    models_min: int
    as_of: AsOf
    unknown_names: UnknownNames = UNSET


@operation("/profiles", "models", heavy=True)
async def get_profiles(view: View, params: ProfileQuery) -> ProfilesAnswer:
    """Show how each model did on every probe, placed among the models of the ledger, and one figure over all."""
    index, position = await view.at(ProbeScoreIndex, also=MODEL_NAMES)
    scores = index.scores()
    names = await find_model_names(view)
    profiles = await run_on_thread(build_profiles, scores, names, params.model)
    unknown: UnknownNames = UNSET
    if not profiles and params.model is not None:
        known = {*names.models, *(facts[4] for facts in scores.facts_table if facts[4] is not None)}
        unknown = find_unknown_names({"model": params.model}, {"model": known})
    return ProfilesAnswer(
        profiles=profiles, models_min=MODELS_MIN, as_of=await view.dated(position), unknown_names=unknown
    )
