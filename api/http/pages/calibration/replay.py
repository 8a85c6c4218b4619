"""The slider over positions that replays the past."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from api.http.pages.page import address_of
from tallystick.shapes.parts import AsOf

STEPS = 100
"""The slider has about this many positions; a link goes as far as STEPS / LINK_STEPS of them."""

LINK_STEPS = 20


class Replay(NamedTuple):
    """The slider: its lowest position, the head, the step and the chosen position with its time, and the links.

    `earlier`, `later` and `now` are None where there is nothing to go to.
    """

    low: int
    head: int
    step: int
    position: int
    time: datetime | None
    earlier: str | None
    later: str | None
    now: str | None


def make_replay(path: str, parameters: Mapping[str, str], as_of: AsOf, head: int) -> Replay:
    """Return the slider of a page as of a position."""
    step, position, far = max(1, head // STEPS), as_of.position, max(1, head // LINK_STEPS)
    back, forth = max(0, position - far), position + far
    return Replay(
        low=head % step,
        head=head,
        step=step,
        position=position,
        time=as_of.time,
        earlier=address_of(path, parameters, as_of=back, offset=None) if position > 0 else None,
        later=address_of(path, parameters, as_of=forth if forth < head else None, offset=None)
        if position < head
        else None,
        now=address_of(path, parameters, as_of=None, offset=None) if "as_of" in parameters else None,
    )
