"""log: the events as they stand."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, given, ledger_of

if TYPE_CHECKING:
    from api.service.ledger import LedgerService
    from ledger import Page, Query


def log(
    context: typer.Context,
    *,
    after: Annotated[str | None, typer.Option(help="Only behind this position.", metavar="POSITION")] = None,
    before: Annotated[str | None, typer.Option(help="Only before this position.", metavar="POSITION")] = None,
    limit: Annotated[
        str | None, typer.Option(help="At most so many; 100 on a terminal, all for programs.", metavar="NUMBER")
    ] = None,
    order: Annotated[str | None, typer.Option(help="asc or desc, by position.")] = None,
    type_: Annotated[str | None, typer.Option("--type", help="Only these types, separated by commas.")] = None,
    subject: Annotated[str | None, typer.Option(help="Only these streams, separated by commas.")] = None,
    source: Annotated[str | None, typer.Option(help="Only this agent's.", metavar="AGENT")] = None,
    since: Annotated[str | None, typer.Option(help="Happened then or later.", metavar="TIME")] = None,
    until: Annotated[str | None, typer.Option(help="Happened then or earlier.", metavar="TIME")] = None,
    follow: Annotated[bool, typer.Option(help="Go on printing what is appended, until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print events: a table on a terminal, the stored lines byte for byte for programs.

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
    raw = as_json or not sys.stdout.isatty()
    if not follow:
        asyncio.run(_print(context, query, raw, whole=raw and limit is None))
        return
    check_followable(query)
    try:
        asyncio.run(_follow(context, query, raw))
    except KeyboardInterrupt:
        raise typer.Exit from None


async def _print(context: typer.Context, query: "Query", raw: bool, whole: bool) -> None:
    from msgspec import structs

    from api.cli.open_ledger import open_reader
    from api.cli.output import out, print_line, say
    from events.limits import PAGE_EVENTS_MAX

    async with open_reader(ledger_of(context), views=False) as ledger:
        if whole:
            async for page in ledger.scan(structs.replace(query, limit=PAGE_EVENTS_MAX)):
                print_line(page.ndjson)
            return
        page = await ledger.read(query)
        if raw and page.positions:
            print_line(page.ndjson)
        elif not raw:
            out().print(_table(page))
        if page.more and not raw:
            edge = "--before" if query.order == "desc" else "--after"
            say(f"There are more: {edge} {page.positions[-1]} shows the next.")


async def _follow(context: typer.Context, query: "Query", raw: bool) -> None:
    from api.cli.open_ledger import open_reader
    from api.cli.output import print_line

    async with open_reader(ledger_of(context), views=False) as ledger:
        async for page in _pages(ledger, query):
            if raw:
                print_line(page.ndjson)
                continue
            for row in _rows(page):
                typer.echo("  ".join(row))


def _pages(ledger: "LedgerService", query: "Query") -> "AsyncIterator[Page]":
    from msgspec import structs

    from events.limits import PAGE_EVENTS_MAX

    return ledger.follow(structs.replace(query, limit=PAGE_EVENTS_MAX))


def _table(page: "Page") -> object:
    from api.cli.output import cut, table

    shown = table("position", "time (UTC)", "type", "subject", "agent", "", right=("position",), wrap=("agent", ""))
    for *row, agent, gist in _rows(page):
        shown.add_row(*row, cut(agent), cut(gist))
    return shown


def _rows(page: "Page") -> list[tuple[str, ...]]:
    from api.text import moment, one_line
    from events import VOCABULARY

    return [
        (
            str(event.position),
            moment(event.moment),
            event.name,
            event.subject,
            one_line(event.agent),
            one_line(_gist(event.data)),
        )
        for event in map(VOCABULARY.event, page.lines)
    ]


def _gist(data: object) -> str:
    """What an event says, in a word."""
    for field in ("outcome", "decision", "text"):
        if (value := getattr(data, field, None)) is not None:
            confidence = getattr(data, "confidence", None)
            return f"{value}" if confidence is None else f"{confidence:.2f} {value}"
    return ""
