"""The models that the names in events mean, as of a position."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from api.service.ledger import View
from projections.discovery.attempt_index import AttemptIndex
from projections.discovery.model_names import ModelNames

if TYPE_CHECKING:
    from projections.calibration.model_groups import ResolveModel


MODEL_NAMES: Final = (AttemptIndex,)
"""The projections that `find_model_names` reads: a caller requests another one with `also=MODEL_NAMES` before."""


async def find_model_names(view: View) -> ModelNames:
    """Return the registered models and their aliases, for the projection that was requested last with MODEL_NAMES."""
    return (await view.beside(AttemptIndex)).names.copy()


def names_of_model(names: ModelNames, model: str, written: Iterable[str | None]) -> set[str]:
    """Return those of some joined names, as decisions have them, that mean a model. It is given by any of its names."""
    means = names.resolve(model)
    return {joined for joined in list(written) if joined is not None and names.resolve_joined(joined) == means}


def model_resolver(names: ModelNames) -> "ResolveModel":
    """Return the function that gives the model of joined names."""

    def resolve(joined: str) -> str | None:
        resolved = names.resolve_joined(joined)
        return None if resolved is None else resolved.key

    return resolve
