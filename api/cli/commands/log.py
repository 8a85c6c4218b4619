"""log: print events."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import ORDERS, choice, given

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from api.client.remote_events import RemoteEvents
    from api.service.ledger import LedgerService
    from ledger import Page, Query


@verb(server=True, reads=True)
def log(
    target: LedgerTarget,
    *,
    after: Annotated[str | None, typer.Option(help="Only events after this position.", metavar="POSITION")] = None,
    before: Annotated[str | None, typer.Option(help="Only events before this position.", metavar="POSITION")] = None,
    limit: Annotated[
        str | None,
        typer.Option(help="At most this many; without it 100 on a terminal, all otherwise.", metavar="NUMBER"),
    ] = None,
    order: Annotated[str | None, choice("Sort by position in this order.", ORDERS)] = None,
    type_: Annotated[str | None, typer.Option("--type", help="Only these types, separated by commas.")] = None,
    subject: Annotated[str | None, typer.Option(help="Only these streams, separated by commas.")] = None,
    source: Annotated[str | None, typer.Option(help="Only this agent.", metavar="AGENT")] = None,
    since: Annotated[str | None, typer.Option(help="Only events that happened then or later.", metavar="TIME")] = None,
    until: Annotated[
        str | None, typer.Option(help="Only events that happened then or earlier.", metavar="TIME")
    ] = None,
    follow: Annotated[bool, typer.Option(help="Print new events as they are appended, until Ctrl-C.")] = False,
) -> None:
    """Print events.

    On a terminal they are printed as a table; otherwise, and with --json, as the stored lines, byte for byte.

    Example: tallystick log --type decision.reviewed.v1 --since 2026-11-01 --json
    """
    import asyncio
    import sys

    from api.service.query_params import check_followable, parse_event_query

    parameters = given(
        after=after, before=before, limit=limit, order=order, type=type_, subject=subject, source=source,
        since=since, until=until,
    )  # fmt: skip
    query = parse_event_query(parameters)
    raw = target.json or not sys.stdout.isatty()
    if not follow:
        asyncio.run(_print(target, query, raw=raw, all_pages=raw and limit is None))
        return
    check_followable(query)
    try:
        asyncio.run(_follow(target, query, raw=raw))
    except KeyboardInterrupt:
        raise typer.Exit from None


async def _print(target: LedgerTarget, query: "Query", *, raw: bool, all_pages: bool) -> None:
    """Print one page, or with `all_pages` every page; with `raw` as stored lines, otherwise as a table."""
    from msgspec import structs

    from api.cli.open_ledger import open_events
    from api.cli.output import open_console, print_line, print_note
    from events.limits import PAGE_EVENTS_MAX

    async with open_events(target) as service:
        if all_pages:
            async for page in service.scan(structs.replace(query, limit=PAGE_EVENTS_MAX)):
                print_line(page.ndjson)
            return
        page = await service.read(query)
        if raw and page.positions:
            print_line(page.ndjson)
        elif not raw:
            open_console().print(_table(page))
        if page.more and not raw:
            option = "--before" if query.order == "desc" else "--after"
            print_note(f"Next page: {option} {page.positions[-1]}")


async def _follow(target: LedgerTarget, query: "Query", *, raw: bool) -> None:
    from api.cli.open_ledger import open_events
    from api.cli.output import print_line

    async with open_events(target) as service:
        async for page in _pages(service, query):
            if raw:
                print_line(page.ndjson)
                continue
            for row in _rows(page):
                typer.echo("  ".join(row))


def _pages(service: "LedgerService | RemoteEvents", query: "Query") -> "AsyncIterator[Page]":
    from msgspec import structs

    from events.limits import PAGE_EVENTS_MAX

    return service.follow(structs.replace(query, limit=PAGE_EVENTS_MAX))


def _table(page: "Page") -> object:
    from api.cli.output import make_table, truncate

    columns = ("position", "time (UTC)", "type", "subject", "agent", "")
    table = make_table(*columns, right=("position",), wrap=("agent", ""))
    for *row, agent, summary in _rows(page):
        table.add_row(*row, truncate(agent), truncate(summary))
    return table


def _rows(page: "Page") -> list[tuple[str, ...]]:
    from api.text_format import format_time, one_line
    from events import VOCABULARY

    return [
        (
            str(event.position),
            format_time(event.moment),
            event.name,
            event.subject,
            one_line(event.agent),
            one_line(_summary(event.data)),
        )
        for event in map(VOCABULARY.event, page.lines)
    ]


def _summary(data: object) -> str:
    """Return the most informative field of an event: its outcome, decision or text."""
    for field in ("outcome", "decision", "text"):
        if (value := getattr(data, field, None)) is not None:
            confidence = getattr(data, "confidence", None)
            return f"{value}" if confidence is None else f"{confidence:.2f} {value}"
    return ""
