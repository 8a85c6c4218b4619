"""Refuse an answer about an unknown name: it may be misspelt, and an empty table would hide that."""

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallystick.shapes.parts import UnknownName


def check_names(answer: object, may_be_new: Collection[str] = ()) -> None:
    """Check that the filter of an answer has no unknown names, except in the parameters `may_be_new`.

    Errors: NotFound, for the first one.
    """
    unknown: list[UnknownName] = getattr(answer, "unknown_names", None) or []
    for name in (name for name in unknown if name.parameter not in may_be_new):
        from api.service.unknown_names import suggest
        from ledger.errors import NotFound

        advice = suggest(name.nearest, "Nothing in the ledger has it. Check the spelling.")
        raise NotFound(f"There is no {name.parameter} {name.value!r}.", advice)
