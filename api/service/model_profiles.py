"""Use case: the profile of each model over all probes."""

import msgspec
from msgspec import UNSET

from api.service.ledger import LedgerService
from api.service.model_names import MODEL_NAMES, find_model_names
from api.service.unknown_names import UnknownNames, find_unknown_names
from ledger.threads import run_on_thread
from projections.discovery.model_profiles import MODELS_MIN, ModelProfile, build_profiles
from projections.discovery.probe_score_index import ProbeScoreIndex
from tallystick.shapes.parts import AsOf


class ProfilesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The profiles of models, the best overall first, as of a position. A percentile needs `models_min` models."""

    profiles: list[ModelProfile]
    models_min: int
    as_of: AsOf
    unknown_names: UnknownNames = UNSET


async def profile_models(ledger: LedgerService, model: str | None = None, as_of: int | None = None) -> ProfilesAnswer:
    """Return the profile of every model with a score, or of the one that a name means. Errors: InvalidQuery."""
    index, position = await ledger.engine.at(ProbeScoreIndex, as_of, also=MODEL_NAMES)
    scores = index.scores()
    names = await find_model_names(ledger, as_of)
    profiles = await run_on_thread(build_profiles, scores, names, model)
    unknown: UnknownNames = UNSET
    if not profiles and model is not None:
        known = {*names.models, *(facts[4] for facts in scores.facts_table if facts[4] is not None)}
        unknown = find_unknown_names({"model": model}, {"model": known})
    return ProfilesAnswer(
        profiles=profiles, models_min=MODELS_MIN, as_of=await ledger.dated(position), unknown_names=unknown
    )
