"""append: events as they are, from a file or a pipe."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, BearerToken, Url, ledger_of

if TYPE_CHECKING:
    from pathlib import Path

    from api.importers.pipeline import AppendTotals

BATCH_EVENTS = 1000


def append(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="[FILE|-]", help="NDJSON, one event a line; - is standard input.")
    ] = "-",
    agent: Annotated[
        str | None, typer.Option(help="Who speaks, where an event names no source.", metavar="NAME")
    ] = None,
    batch: Annotated[
        int, typer.Option(min=1, max=BATCH_EVENTS, help="Events written together, all or none.")
    ] = BATCH_EVENTS,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Append events: {"type": "...", "data": {...}}, one a line. Batches are written whole or not at all.

    Example: tallystick append events.ndjson --agent claude
    """
    import asyncio

    from api.auth import is_valid_agent
    from api.cli.output import print_json
    from api.text import many
    from ledger.errors import InvalidQuery

    if agent is not None and not is_valid_agent(agent):
        raise InvalidQuery("agent", f"{agent!r} is no agent's name.", "Use 1..64 letters, digits and ._:@/+-.")
    tally = asyncio.run(_append(ledger_of(context), file, agent, batch, url, token))
    if as_json:
        print_json(tally)
        return
    where = f", positions {tally.first:,} to {tally.last:,}" if tally.first is not None else ""
    typer.echo(f"{many(tally.appended, 'event')} appended, {tally.duplicates:,} there already{where}.")


async def _append(
    ledger: "Path", file: str, agent: str | None, batch: int, url: str | None, token: str | None
) -> "AppendTotals":
    from api.cli.open_ledger import open_store
    from api.cli.output import progress
    from api.importers.ndjson import LineBatches
    from api.importers.pipeline import AppendTotals, Batch, append_batches

    tally = AppendTotals()
    with LineBatches.open(file) as lines, progress("appending", "events") as report:

        def written(batch: Batch) -> None:
            done = tally.appended + tally.duplicates
            # How many events the rest holds is known by its bytes alone.
            share = lines.read_bytes / lines.size_bytes if lines.size_bytes else 1
            report(done, max(done, round(done / share)) if share else done)

        try:
            async with open_store(ledger, url, token) as open_sink:
                await append_batches(lines.batches(batch, agent), open_sink, tally, lines.name, written)
        finally:
            lines.stopped = True
    return tally
