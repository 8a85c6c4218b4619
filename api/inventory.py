"""Which models are really got, which of them are known, and what their answers were worth: verbs of their own."""

from asyncio import to_thread

import msgspec

from api.answers import AsOf
from api.operations import House
from projections import Inventory, InventoryView, Model, Probes, ProbeScores, ScoresWanted, survey, tabulate


class InventoryAnswer(InventoryView, frozen=True, kw_only=True):
    """The inventory, and what it is as of."""

    as_of: AsOf


class ProbesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Score tables, by probe and scorer, and what they are as of."""

    probes: list[ProbeScores]
    as_of: AsOf


class ModelList(msgspec.Struct, frozen=True, kw_only=True):
    """The registered models with what speaks for them, and what that is as of."""

    models: list[Model]
    as_of: AsOf


async def inventory(house: House, model: str | None = None, as_of: int | None = None) -> InventoryAnswer:
    """The models that answered, as claimed and as reported; of one, by any of its names, where it is asked for."""
    projection, position = await house.engine.at(Inventory, as_of)
    found = await to_thread(survey, projection.attempts(), model)
    told = {name: getattr(found, name) for name in found.__struct_fields__}
    return InventoryAnswer(**told, as_of=await house.dated(position))


async def registered(house: House, as_of: int | None = None) -> ModelList:
    """The models that their owners know, sighted or not, by key."""
    found = await inventory(house, as_of=as_of)
    known = sorted((model for model in found.models if model.known), key=lambda model: model.key)
    return ModelList(models=known, as_of=found.as_of)


async def known(house: House, model_name: str) -> bool:
    """Whether a claimed name is of a registered model."""
    projection, _ = await house.engine.at(Inventory)
    return projection.names.known(model_name)


async def probe_scores(house: House, wanted: ScoresWanted, as_of: int | None = None) -> ProbesAnswer:
    """What the answers to probes were worth, by model, and whether the probes tell models apart."""
    probes, position = await house.engine.at(Probes, as_of)
    scores = probes.scores()
    # What is live stands all at one position, as long as nothing is awaited.
    projection = house.engine.live[Inventory.name] if as_of is None else (await house.engine.at(Inventory, as_of))[0]
    assert isinstance(projection, Inventory)
    found = await to_thread(tabulate, scores, projection.names.copy(), wanted)
    return ProbesAnswer(probes=found, as_of=await house.dated(position))
