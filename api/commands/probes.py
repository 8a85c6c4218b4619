"""probe: what models are asked to do, and what their answers were worth."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.commands import rescore
from api.commands.asking import analyze, prompt
from api.commands.options import AsJson, AsOf, given, ledger_of

if TYPE_CHECKING:
    from pathlib import Path

    from api.inventory import ProbesAnswer

app = typer.Typer(help="Probes: what models are asked to do, and what their answers were worth.", no_args_is_help=True)
app.command("prompt")(prompt)
app.command("analyze")(analyze)
app.command("list")(rescore.list_probes)
app.command("rescore")(rescore.rescore)


@app.command("scores")
def scores(
    context: typer.Context,
    *,
    probe: Annotated[str | None, typer.Option(help="Only this probe.", metavar="ID|ID@VERSION")] = None,
    scorer: Annotated[str | None, typer.Option(help="Only this scorer.", metavar="ID|ID@VERSION")] = None,
    model: Annotated[str | None, typer.Option(help="Only this model, by any of its names.")] = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """What were the answers of each model worth, and does the probe tell models apart at all?

    Example: tallystick probe scores --probe refactor --scorer syntax@1
    """
    import asyncio

    from api.commands.sightings import print_scores
    from api.printing import print_json

    found = asyncio.run(_scores(ledger_of(context), given(probe=probe, scorer=scorer, model=model), as_of))
    if as_json:
        print_json(found)
    else:
        print_scores(found)


async def _scores(ledger: "Path", parameters: dict[str, str], as_of: str | None) -> "ProbesAnswer":
    from api.inventory import probe_scores
    from api.reading import reading
    from projections import ScoresWanted

    async with reading(ledger) as house:
        return await probe_scores(house, ScoresWanted(**parameters), await house.resolve(as_of))
