"""Resolve an id that may be given by a unique beginning of it."""

from typing import Protocol

from ledger.errors import NotFound


class IdIndex(Protocol):
    """A projection that knows the ids of one kind of stream."""

    def has(self, name: str, /) -> bool:
        """Return whether an id exists."""
        ...

    def ids_starting_with(self, prefix: str, /) -> list[str]:
        """Return the first two ids that begin with a text."""
        ...


def resolve_id(index: IdIndex, given: str, noun: str, *, prefix: bool) -> str:
    """Return an existing id: `given`, or with `prefix` the only id that begins with it. Errors: NotFound."""
    if index.has(given):
        return given
    matches = index.ids_starting_with(given) if prefix and given else []
    if len(matches) == 1:
        return matches[0]
    raise id_not_found(given, noun, ambiguous=bool(matches))


def id_not_found(given: str, noun: str, *, ambiguous: bool = False) -> NotFound:
    """Return the error for an id that does not exist, or that begins more than one id."""
    advice = f"{given} begins more than one id." if ambiguous else f"Check the id, or list the {noun}s to find it."
    return NotFound(f"{noun.capitalize()} not found: {given}", advice, kind=None if ambiguous else noun, name=given)
