"""model: register models, give them other names, and list them."""

from typing import TYPE_CHECKING, Annotated

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import ask, show, use_store
from api.cli.options import AsOf, argument, given, option

if TYPE_CHECKING:
    pass

Key = Annotated[str, argument("The name that its dated and prefixed names have in common.", "KEY")]
EventAgent = Annotated[str | None, option("The agent of the event.", "AGENT")]


@verb(server=True)
def register_model(
    target: LedgerTarget,
    key: Key,
    *,
    provider: Annotated[str | None, option("The provider.")] = None,
    name: Annotated[str | None, option("The name to show.")] = None,
    version: Annotated[str | None, option("Its version.")] = None,
    note: Annotated[str | None, option("A remark.")] = None,
    agent: EventAgent = None,
) -> None:
    """Register a model that you know.

    Answers that claim it, under any dated or prefixed name, are then listed as a known model.

    Example: tallystick model register example-large --provider Example --name "Example Large"
    """
    from api.cli.render.model_inventory import print_appended
    from api.service.model_registry import register

    fields = given(provider=provider, name=name, version=version, note=note, agent=agent)
    appended = use_store(target, lambda store: register(store, key, **fields))
    print_appended(target, appended, f"Model {key} is registered")


@verb(server=True)
def add_alias(
    target: LedgerTarget,
    key: Key,
    alias: Annotated[str, argument("Another name, as answers claim it; case is ignored.", "NAME")],
    *,
    agent: EventAgent = None,
) -> None:
    """Give a registered model another name.

    An alias takes precedence over every naming rule. Of several aliases with one name, the latest is used.

    Example: tallystick model alias example-large "Example Large (preview)"
    """
    from api.cli.render.model_inventory import print_appended
    from api.service.model_registry import alias as give_alias

    appended = use_store(target, lambda store: give_alias(store, key, alias, agent=agent))
    print_appended(target, appended, f"Model {key} is also called {alias!r}")


@verb(server=True, reads=True)
def list_models(target: LedgerTarget, as_of: AsOf = None) -> None:
    """List the registered models.

    Shows their names, and how often each was seen.

    Example: tallystick model list
    """
    from api.cli.render.model_inventory import print_models
    from api.service.model_queries import get_inventory, registered_models
    from projections.discovery.query_params import InventoryQuery

    show(target, registered_models(ask(target, get_inventory, InventoryQuery(), as_of)), print_models)


@verb(server=True, reads=True)
def profile(
    target: LedgerTarget,
    model: Annotated[str | None, argument("Only this model, by any of its names.", "MODEL")] = None,
    as_of: AsOf = None,
) -> None:
    """Show how models did on every probe, and one figure over all.

    Each probe's score is placed among the models of the ledger (percentile). The overall figure is the mean of a
    model's percentiles. A declined answer counts as 0. With MODEL, each probe has a line.

    Example: tallystick model profile example-large
    """
    from api.cli.render.model_profiles import print_profiles
    from api.service.model_profiles import get_profiles
    from projections.discovery.query_params import ProfileQuery

    answer = ask(target, get_profiles, ProfileQuery(model=model), as_of)
    show(target, answer, lambda profiles: print_profiles(profiles, whole=model is not None))
