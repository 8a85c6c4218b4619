"""replay: fold the log again, and on request compare the result with the stored views."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import open_reader
from api.cli.options import option
from api.cli.output import make_table, open_console, print_json, show_progress
from api.text_format import format_count

if TYPE_CHECKING:
    from api.service.projections import ReplayResult


@verb()
def replay(
    target: LedgerTarget,
    check: Annotated[bool, option("Compare with the incrementally folded states; exit code 1 if one differs.")] = False,
    projection: Annotated[str | None, option("Only this projection.", "NAME")] = None,
    to: Annotated[str | None, option("Fold up to this position or time.", "POSITION|TIME")] = None,
) -> None:
    """Fold all events again and print each projection's digest.

    Example: tallystick replay --check
    """
    import asyncio

    results = asyncio.run(_replay(target, projection, to, check=check))
    differing = [result.name for result in results if result.same is False]
    if target.json:
        print_json({"projections": results, "checked": check, "same": not differing if check else None})
    else:
        columns = ("projection", "version", "position", "digest", *(["check"] if check else []))
        table = make_table(*columns, right=("position",), wrap=("digest",))
        for result in results:
            verdict = ["the same" if result.same else "DIFFERS"] if check else []
            table.add_row(result.name, str(result.version), format_count(result.position), result.digest, *verdict)
        open_console().print(table)
    if differing:
        typer.echo(
            f"The snapshots of {', '.join(differing)} differ from the events. The log itself is not damaged: stop the "
            f"server and remove {target.place.path}.views.db; the views are then folded again.",
            err=True,
        )
        raise typer.Exit(1)


async def _replay(target: LedgerTarget, name: str | None, to: str | None, *, check: bool) -> "list[ReplayResult]":
    from api.service.projections import replay_projections

    async with open_reader(target.place) as service:
        upto = await service.resolve(to, "to")
        with show_progress("replaying", "events") as report:
            return await replay_projections(service, name, upto, check=check, progress=report)
