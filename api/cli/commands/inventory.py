"""inventory: list the models that answered."""

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import ask, show
from api.cli.options import AsOf
from projections.discovery.query_params import InventoryQuery


@verb(server=True, reads=True)
def inventory(target: LedgerTarget, params: InventoryQuery, as_of: AsOf = None) -> None:
    """List the models that answered.

    For each model: its names, sightings and runs. Answers that name no model, and contradictory ones, are listed
    separately.

    Example: tallystick inventory --as-of 2026-11-01
    """
    from api.cli.render.model_inventory import print_inventory
    from api.service.model_queries import get_inventory

    show(target, ask(target, get_inventory, params, as_of), print_inventory)
