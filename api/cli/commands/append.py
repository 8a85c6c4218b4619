"""append: append events from a file or a pipe."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import open_store
from api.cli.options import argument, option
from api.cli.output import print_json, show_progress
from api.text_format import pluralize
from ledger.errors import InvalidQuery

if TYPE_CHECKING:
    from api.importers.batch_append import AppendTotals

BATCH_EVENTS = 1000


@verb(server=True)
def append(
    target: LedgerTarget,
    file: Annotated[str, argument("NDJSON, one event per line; - is standard input.", "[FILE|-]")] = "-",
    agent: Annotated[str | None, option("The agent of events that name no source.", "NAME")] = None,
    batch: Annotated[
        int, option("Events per batch. A batch is appended whole or not at all.", min=1, max=BATCH_EVENTS)
    ] = BATCH_EVENTS,
) -> None:
    """Append events from a file or a pipe.

    Each line is an event such as {"type": "...", "data": {...}}.

    Example: tallystick append events.ndjson --agent claude
    """
    import asyncio

    from events.agent_name import is_valid_agent

    if agent is not None and not is_valid_agent(agent):
        detail = f"{agent!r} cannot be the name of an agent."
        raise InvalidQuery("agent", detail, "Use 1..64 letters, digits and ._:@/+-.")
    totals = asyncio.run(_append(target, file, agent, batch))
    if target.json:
        print_json(totals)
        return
    positions = f", positions {totals.first:,} to {totals.last:,}" if totals.first is not None else ""
    typer.echo(f"{pluralize(totals.appended, 'event')} appended, {totals.duplicates:,} there already{positions}.")


async def _append(target: LedgerTarget, file: str, agent: str | None, batch: int) -> "AppendTotals":
    from api.importers.batch_append import AppendTotals, Batch, append_batches
    from api.importers.ndjson_lines import LineBatches

    totals = AppendTotals()
    with LineBatches.open(file) as lines, show_progress("appending", "events") as report:

        def report_batch(batch: Batch) -> None:
            processed = totals.appended + totals.duplicates
            # The total is estimated from the share of the bytes that is read.
            share = lines.read_bytes / lines.size_bytes if lines.size_bytes else 1
            report(processed, max(processed, round(processed / share)) if share else processed)

        try:
            async with open_store(target) as store:
                await append_batches(lines.batches(batch, agent), store, totals, lines.name, report_batch)
        finally:
            lines.stopped = True
    return totals
