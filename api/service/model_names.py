"""The models that the names in events mean, as of a position."""

from api.service.ledger import LedgerService
from projections.calibration.model_groups import ResolveModel
from projections.discovery.attempt_index import AttemptIndex
from projections.discovery.model_names import ModelNames


async def find_model_names(ledger: LedgerService, as_of: int | None) -> ModelNames:
    """Return the registered models and their aliases.

    If `as_of` is None, they are at the position of the projection that the caller requested last, since there is no
    pause in between.
    """
    if as_of is not None:
        return (await ledger.engine.at(AttemptIndex, as_of))[0].names.copy()
    index = ledger.engine.live[AttemptIndex.name]
    assert isinstance(index, AttemptIndex)
    return index.names.copy()


def model_resolver(names: ModelNames) -> ResolveModel:
    """Return the function that gives the model of joined names."""

    def resolve(joined: str) -> str | None:
        resolved = names.resolve_joined(joined)
        return None if resolved is None else resolved.key

    return resolve
