"""log: the events as they stand."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

import typer

from api.commands.options import AsJson, given, ledger_of

if TYPE_CHECKING:
    from api.operations import House
    from ledger import Query, Slice


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

    from api.outflow import forwards, query_of

    parameters = given(
        after=after, before=before, limit=limit, order=order, type=type_, subject=subject, source=source,
        since=since, until=until,
    )  # fmt: skip
    query = query_of(parameters)
    raw = as_json or not sys.stdout.isatty()
    if not follow:
        asyncio.run(_print(context, query, raw, whole=raw and limit is None))
        return
    forwards(query)
    try:
        asyncio.run(_follow(context, query, raw))
    except KeyboardInterrupt:
        raise typer.Exit from None


async def _print(context: typer.Context, query: "Query", raw: bool, whole: bool) -> None:
    from msgspec import structs

    from api.printing import out, print_line, say
    from api.reading import reading
    from events.limits import PAGE_EVENTS_MAX

    async with reading(ledger_of(context), views=False) as house:
        if whole:
            async for page in house.scan(structs.replace(query, limit=PAGE_EVENTS_MAX)):
                print_line(page.ndjson)
            return
        page = await house.read(query)
        if raw and page.positions:
            print_line(page.ndjson)
        elif not raw:
            out().print(_table(page))
        if page.more and not raw:
            edge = "--before" if query.order == "desc" else "--after"
            say(f"There are more: {edge} {page.positions[-1]} shows the next.")


async def _follow(context: typer.Context, query: "Query", raw: bool) -> None:
    from api.printing import print_line
    from api.reading import reading

    async with reading(ledger_of(context), views=False) as house:
        async for page in _pages(house, query):
            if raw:
                print_line(page.ndjson)
                continue
            for row in _rows(page):
                typer.echo("  ".join(row))


def _pages(house: "House", query: "Query") -> "AsyncIterator[Slice]":
    from msgspec import structs

    from events.limits import PAGE_EVENTS_MAX

    return house.follow(structs.replace(query, limit=PAGE_EVENTS_MAX))


def _table(page: "Slice") -> object:
    from api.printing import cut, table

    shown = table("position", "time (UTC)", "type", "subject", "agent", "", right=("position",), wrap=("agent", ""))
    for *row, agent, gist in _rows(page):
        shown.add_row(*row, cut(agent), cut(gist))
    return shown


def _rows(page: "Slice") -> list[tuple[str, ...]]:
    from api.printing import moment, one_line
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
