"""Ranges of time in parameters."""

from datetime import datetime

from api.cstp.rpc import RpcError
from api.cstp.shape import Wrong, refusal
from api.parameters import time_range
from ledger.errors import InvalidQuery
from projections import Range


def period_of(
    since: str | None,
    until: str | None,
    now: datetime,
    *,
    window: str | None = None,
    names: tuple[str, str] = ("since", "until"),
) -> Range:
    """A range from instants or dates, both ends included; a window counts back from now and beats `since`.

    `names` are what the method calls the two ends. Errors: RpcError.
    """
    given = {"since": since, "until": until, "window": window}
    try:
        return time_range({name: text for name, text in given.items() if text is not None}, now)
    except InvalidQuery as error:
        raise _renamed(error, names) from None


def _renamed(error: InvalidQuery, names: tuple[str, str]) -> RpcError:
    field = {"since": names[0], "until": names[1]}.get(error.field, error.field)
    rule = str(error).removeprefix(f"{error.field}: ")
    return refusal([Wrong(field, rule)])
