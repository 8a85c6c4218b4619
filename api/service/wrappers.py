"""Use case: list the names of hosts (wrappers), those that owners stated and those of the default list."""

from collections import Counter

import msgspec

from api.service.ledger import View
from api.service.model_queries import get_inventory
from api.service.operation import operation
from events.host_names import HOSTS, host_key
from projections.discovery.attempt_index import AttemptIndex
from projections.discovery.model_inventory import WHOLE_INVENTORY
from projections.shared_params import NoParams
from tallystick.shapes.parts import AsOf


class StatedName(msgspec.Struct, frozen=True, kw_only=True):
    """A name that an owner declared to be a host's (`wrapper` is true), or not to be one.

    `sightings` counts the attempts in which a host answered with this name; None if the name is not a host's.
    """

    key: str
    wrapper: bool
    name: str | None
    note: str | None
    sightings: int | None


class WrapperList(msgspec.Struct, frozen=True, kw_only=True):
    """The names that owners stated, by key, as of a position; and the default list, which has precedence after them."""

    stated: list[StatedName]
    defaults: list[str]
    as_of: AsOf


@operation("/wrappers", "models", heavy=True)
async def get_wrappers(view: View, params: NoParams) -> WrapperList:
    """List the names of hosts (wrappers): those that owners stated, and the default list.

    To declare one, post the event `wrapper.declared.v1`; to withdraw it, or to take a name of the default list out,
    post `wrapper.withdrawn.v1`.
    """
    inventory = await get_inventory(view, WHOLE_INVENTORY)
    index, _ = await view.engine.at(AttemptIndex, inventory.as_of.position)
    sightings: Counter[str] = Counter()
    for row in inventory.wrappers:
        sightings[host_key(row.key)] += row.sightings
    stated = [
        StatedName(
            key=one.key,
            wrapper=one.is_wrapper,
            name=one.name,
            note=one.note,
            sightings=sightings[one.key] if one.is_wrapper else None,
        )
        for _, one in sorted(index.names.wrappers.items())
    ]
    return WrapperList(stated=stated, defaults=sorted(HOSTS), as_of=inventory.as_of)
