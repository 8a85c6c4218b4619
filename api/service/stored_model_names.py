"""Read what owners said about the names of models and hosts, from a ledger file or a server."""

from typing import Final

from api.service.store import EventStore
from events.model import ModelAliased, ModelRegistered, WrapperDeclared, WrapperWithdrawn
from events.registry import VOCABULARY
from projections.discovery.model_names import ModelNames

NAME_EVENTS: Final = VOCABULARY.names_of(ModelRegistered, ModelAliased, WrapperDeclared, WrapperWithdrawn)
"""The types of events in which owners say what names mean."""


async def load_model_names(store: EventStore, before: int | None = None) -> ModelNames:
    """Return what owners said about names in a ledger file or at a server; with `before`, in events up to a position.

    Errors: those of `EventStore.streams`.
    """
    names = ModelNames()
    for event in VOCABULARY.events(await store.streams((), NAME_EVENTS)):
        if before is None or event.position < before:
            names.fold(event.data)
    return names
