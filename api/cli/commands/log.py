"""log: print events."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import open_events
from api.cli.options import ORDERS, choice, flag, given, option
from api.cli.output import make_table, open_console, print_line, print_note, truncate
from api.text_format import format_time, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ledger.log import LogPage, Query


@verb(server=True, reads=True)
def log(
    target: LedgerTarget,
    *,
    after: Annotated[str | None, option("Only events after this position.", "POSITION")] = None,
    before: Annotated[str | None, option("Only events before this position.", "POSITION")] = None,
    limit: Annotated[
        str | None,
        option(
            "At most this many; without it 100 on a terminal, all otherwise. With --follow: first the newest of "
            "this number, then new ones.",
            "NUMBER",
        ),
    ] = None,
    order: Annotated[str | None, choice("Sort by position in this order.", ORDERS)] = None,
    type_: Annotated[str | None, flag("--type", "Only these types, separated by commas.")] = None,
    subject: Annotated[str | None, option("Only these streams, separated by commas.")] = None,
    source: Annotated[str | None, option("Only this agent.", "AGENT")] = None,
    correlationid: Annotated[str | None, option("Only events with this correlation id.", "ID")] = None,
    since: Annotated[str | None, option("Only events that happened then or later.", "TIME")] = None,
    until: Annotated[str | None, option("Only events that happened then or earlier.", "TIME")] = None,
    follow: Annotated[
        bool,
        option(
            "Print the events, then new ones as they are appended, until Ctrl-C. Give --limit to begin near the "
            "end, as `tail -n NUMBER -f` does."
        ),
    ] = False,
) -> None:
    """Print events.

    On a terminal they are printed as a table; otherwise, and with --json, as the stored lines, byte for byte.

    Example: tallystick log --type decision.reviewed.v1 --since 2026-11-01 --json
    """
    import asyncio

    from api.service.event_params import check_followable, parse_event_query

    parameters = given(
        after=after, before=before, limit=limit, order=order, type=type_, subject=subject, source=source,
        correlationid=correlationid, since=since, until=until,
    )  # fmt: skip
    query = parse_event_query(parameters)
    raw = target.json or not sys.stdout.isatty()
    if not follow:
        asyncio.run(_print(target, query, raw=raw, all_pages=raw and limit is None))
        return
    check_followable(query)
    try:
        asyncio.run(_follow(target, query, raw=raw, newest_only=limit is not None))
    except KeyboardInterrupt:
        raise typer.Exit from None


async def _print(target: LedgerTarget, query: "Query", *, raw: bool, all_pages: bool) -> None:
    """Print one page, or with `all_pages` every page; with `raw` as stored lines, otherwise as a table."""
    from msgspec import structs

    from events.limits import PAGE_EVENTS_MAX

    async with open_events(target) as service:
        if all_pages:
            is_empty = True
            async for page in service.scan(structs.replace(query, limit=PAGE_EVENTS_MAX)):
                is_empty = False
                print_line(page.ndjson)
            if is_empty:
                await _check_names(target, query)
            return
        page = await service.read(query)
        if not page.positions:
            await _check_names(target, query)
        if raw and page.positions:
            print_line(page.ndjson)
        elif not raw:
            open_console().print(_table(page))
        if page.more and not raw:
            option = "--before" if query.order == "desc" else "--after"
            print_note(f"Next page: {option} {page.positions[-1]}")


async def _check_names(target: LedgerTarget, query: "Query") -> None:
    """Check that the agent and the streams that an empty answer is about are in the log. Errors: NotFound."""
    from api.service.ledger import LedgerService
    from api.service.unknown_names import check_event_names, find_agents

    if query.source is not None or query.subjects:
        async with open_events(target) as service:
            agents = await (find_agents(service) if isinstance(service, LedgerService) else service.agents())
            await check_event_names(service, query, agents)


async def _follow(target: LedgerTarget, query: "Query", *, raw: bool, newest_only: bool) -> None:
    from msgspec import structs

    from events.limits import PAGE_EVENTS_MAX

    async with open_events(target) as service:
        if newest_only:
            head = await service.head_position()
            page = await service.read(structs.replace(query, before=head + 1, order="desc"))
            _print_page(page.positions[::-1], page.lines[::-1], raw=raw)
            query = structs.replace(query, after=max(query.after, head))
        async for page in service.follow(structs.replace(query, limit=PAGE_EVENTS_MAX)):
            _print_page(page.positions, page.lines, raw=raw)


def _print_page(positions: "Sequence[int]", lines: "Sequence[bytes]", *, raw: bool) -> None:
    """Print stored lines as they are, or as rows whose columns are not aligned."""
    if not raw:
        for row in _rows(positions, lines):
            typer.echo("  ".join(row))
    elif lines:
        print_line(b"\n".join(lines))


def _table(page: "LogPage") -> object:
    columns = ("position", "time (UTC)", "type", "subject", "agent", "")
    table = make_table(*columns, right=("position",), wrap=("agent", ""), drop=("time (UTC)", "agent", "", "type"))
    for *row, agent, summary in _rows(page.positions, page.lines):
        table.add_row(*row, agent, truncate(summary))
    return table


def _rows(positions: "Sequence[int]", lines: "Sequence[bytes]") -> list[tuple[str, ...]]:
    from events.decode_error_messages import DECODE_ERRORS
    from events.registry import VOCABULARY

    rows: list[tuple[str, ...]] = []
    for position, line in zip(positions, lines, strict=False):
        try:
            event = VOCABULARY.event(line)
        except DECODE_ERRORS:
            rows.append((str(position), "", "", "", "", "not a valid event: tallystick verify"))
            continue
        moment = format_time(event.moment)
        summary = one_line(_summary(event.data))
        rows.append((str(event.position), moment, event.name, event.subject, one_line(event.agent), summary))
    return rows


def _summary(data: object) -> str:
    """Return the most informative field of an event: its outcome, decision, text or reason."""
    for field in ("outcome", "decision", "text", "reason"):
        if (value := getattr(data, field, None)) is not None:
            confidence = getattr(data, "confidence", None)
            return f"{value}" if confidence is None else f"{confidence:.2f} {value}"
    return ""
