"""replay: fold the log again from its beginning, and prove that the views are what the events say."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, ledger_of
from api.service.projections import replay_projections

if TYPE_CHECKING:
    from api.service.projections import ReplayResult


def replay(
    context: typer.Context,
    check: Annotated[
        bool, typer.Option(help="Compare with the states folded event by event; exit 1 if one differs.")
    ] = False,
    projection: Annotated[str | None, typer.Option(help="Only this one.", metavar="NAME")] = None,
    to: Annotated[str | None, typer.Option(help="Up to a position or time.", metavar="POSITION|TIME")] = None,
    as_json: AsJson = False,
) -> None:
    """Fold every event from the first, and print each projection's digest.

    Example: tallystick replay --check
    """
    import asyncio

    from api.cli.output import out, print_json, table
    from api.text import count

    found = asyncio.run(_replay(ledger_of(context), check, projection, to))
    differ = [one.name for one in found if one.same is False]
    if as_json:
        print_json({"projections": found, "checked": check, "same": not differ if check else None})
    else:
        shown = table("projection", "version", "position", "digest", *(["check"] if check else []), right=("position",))
        for one in found:
            verdict = ["the same" if one.same else "DIFFERS"] if check else []
            shown.add_row(one.name, str(one.version), count(one.position), one.digest, *verdict)
        out().print(shown)
    if differ:
        typer.echo(
            f"The snapshots of {', '.join(differ)} are not what the events say. The log itself is not touched by this: "
            f"stop the server, remove {ledger_of(context)}.views.db, and the views are folded anew.",
            err=True,
        )
        raise typer.Exit(1)


async def _replay(ledger: Path, check: bool, name: str | None, to: str | None) -> "list[ReplayResult]":
    from api.cli.open_ledger import open_reader
    from api.cli.output import progress

    async with open_reader(ledger, views=check) as service:
        upto = await service.resolve(to, "to")
        with progress("replaying", "events") as report:
            return await replay_projections(service, name, upto, check=check, progress=report)
