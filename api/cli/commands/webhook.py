"""webhook: configure the receivers that a server tells what it finds out."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import argument, choice, flag, option
from api.cli.output import make_table, open_console, print_json, print_note
from api.text_format import format_time

if TYPE_CHECKING:
    from api.service.webhooks.endpoint_store import Endpoint
    from projections.webhook_index import EndpointState

KINDS = ("drift", "gate", "overdue-review", "guardrail", "unsigned-checkpoint", "resolved")
DAYS_MAX = 30

EndpointId = Annotated[str, argument("The webhook's id, as `webhook list` shows it.", "ID")]


@verb()
def add(
    target: LedgerTarget,
    url: Annotated[str, argument("The https address of the receiver.", "ADDRESS")],
    *,
    event: Annotated[list[str] | None, choice("What it gets; may be repeated.  \\[default: everything]", KINDS)] = None,
    allow_private: Annotated[bool, flag("--allow-private", "Allow http, loopback and private addresses.")] = False,
    timeout: Annotated[float, option("Seconds for one attempt.", "S", min=0.1, max=60)] = 10,
    first_wait: Annotated[float, option("Seconds after the first failure; they double.", "S", min=0.1, max=3_600)] = 5,
    longest_wait: Annotated[float, option("The longest wait between attempts.", "S", min=1, max=7 * 86_400)] = 43_200,
    give_up_after: Annotated[
        float, option("Seconds after which an event is given up.", "S", min=1, max=DAYS_MAX * 86_400)
    ] = 432_000,
) -> None:
    """Add a webhook and print its secret once.

    The secret is printed alone on standard output. The receiver needs it to verify the signatures.

    Example: SECRET=$(tallystick webhook add https://example.com/hook --event drift --event gate)
    """
    import asyncio
    from typing import cast

    from api.service.webhooks.endpoint_store import EndpointStore, Pace
    from api.service.webhooks.event_kinds import Kind
    from api.service.webhooks.states import head_position
    from ledger.clock import system_clock

    pace = Pace(timeout_s=timeout, first_wait_s=first_wait, longest_wait_s=longest_wait, give_up_s=give_up_after)
    kinds = cast(tuple[Kind, ...], tuple(event or ()))
    after = asyncio.run(head_position(target.place))
    target.place.make_folder()
    store = EndpointStore(target.place.path)
    endpoint = store.add(url, kinds, after, system_clock(), allow_private=allow_private, pace=pace)
    if target.json:
        print_json({**_public_fields(endpoint), "secret": endpoint.secret})
        return
    print_note(f"Webhook {endpoint.id} gets {', '.join(endpoint.kinds)}. Its secret is shown only this once:")
    typer.echo(endpoint.secret)


@verb()
def list_webhooks(target: LedgerTarget) -> None:
    """List the webhooks.

    Example: tallystick webhook list
    """
    from api.service.webhooks.endpoint_store import EndpointStore

    endpoints = EndpointStore(target.place.path).list()
    if target.json:
        print_json([_public_fields(endpoint) for endpoint in endpoints])
        return
    if not endpoints:
        print_note("No webhooks.")
        return
    table = make_table("id", "address", "events", "created (UTC)", wrap=("address", "events"), drop=("created (UTC)",))
    for endpoint in endpoints:
        table.add_row(endpoint.id, endpoint.url, ", ".join(endpoint.kinds), format_time(endpoint.created))
    open_console().print(table)


@verb()
def show(target: LedgerTarget, endpoint_id: EndpointId) -> None:
    """Show a webhook and how its events ended.

    Example: tallystick webhook show 3f2a9c1e
    """
    import asyncio

    from api.service.webhooks.endpoint_store import EndpointStore
    from api.service.webhooks.states import read_state

    endpoint = EndpointStore(target.place.path).find(endpoint_id)
    state, waiting = asyncio.run(read_state(target.place, endpoint))
    fields = {**_public_fields(endpoint), **_state_fields(state), "waiting": waiting}
    if target.json:
        print_json(fields)
        return
    for name, value in fields.items():
        shown = ", ".join(value) if isinstance(value, tuple) else value
        typer.echo(f"{name.replace('_', ' ')}: {'none' if shown is None else shown}")


@verb()
def remove(target: LedgerTarget, endpoint_id: EndpointId) -> None:
    """Remove a webhook at once, also from a running server.

    Example: tallystick webhook remove 3f2a9c1e
    """
    from api.service.webhooks.endpoint_store import EndpointStore

    removed = EndpointStore(target.place.path).remove(endpoint_id)
    if target.json:
        print_json({"id": removed.id, "url": removed.url, "removed": True})
        return
    typer.echo(f"Webhook {removed.id} to {removed.url} is removed. Events that it did not get are given up.")


@verb()
def test(target: LedgerTarget, endpoint_id: EndpointId) -> None:
    """Send a signed test message to a webhook now.

    The message is not in the log; its type is tallystick.webhook.test. Exit code 1: the receiver did not accept it.

    Example: tallystick webhook test 3f2a9c1e
    """
    import asyncio

    from api.service.webhooks.attempt import attempt
    from api.service.webhooks.endpoint_store import EndpointStore
    from api.service.webhooks.message import build_test_message
    from ledger.clock import system_clock

    endpoint = EndpointStore(target.place.path).find(endpoint_id)
    result = asyncio.run(attempt(endpoint, build_test_message(endpoint.id, system_clock())))
    if target.json:
        print_json({"id": endpoint.id, "accepted": result.reason is None, **result._asdict()})
    elif result.reason is None:
        typer.echo(f"{endpoint.url} accepted the message with status {result.status}.")
    else:
        detail = f" ({result.detail})" if result.detail else ""
        typer.echo(f"{endpoint.url} did not accept the message: {result.reason}{detail}.")
    if result.reason is not None:
        raise typer.Exit(1)


def _public_fields(endpoint: "Endpoint") -> dict[str, object]:
    """Return what may be shown of a webhook."""
    names = ("id", "url", "kinds", "after", "created", "allow_private")
    pace = {name: getattr(endpoint.pace, name) for name in endpoint.pace.__struct_fields__}
    return {**{name: getattr(endpoint, name) for name in names}, **pace}


def _state_fields(state: "EndpointState | None") -> dict[str, object]:
    """Return how the events of a webhook ended; everything is None before a server has started it."""
    names = ("started", "position", "delivered", "abandoned", "last_delivered", "last_reason", "ended")
    return {name: getattr(state, name, None) for name in names}
