"""model: which models are known, and by which names they go."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, AsOf, BearerToken, Url, given, ledger_of

if TYPE_CHECKING:
    from pathlib import Path

    from api.service.models import ModelList
    from api.service.store import AppendResult

app = typer.Typer(help="Models you know: register, name and list them.", no_args_is_help=True)

Key = Annotated[str, typer.Argument(metavar="KEY", help="The name that its dated and prefixed names share.")]
Speaker = Annotated[str | None, typer.Option(help="Who says so.", metavar="AGENT")]


@app.command("register")
def register(
    context: typer.Context,
    key: Key,
    *,
    provider: Annotated[str | None, typer.Option(help="Who offers it.")] = None,
    name: Annotated[str | None, typer.Option(help="How it is to be shown.")] = None,
    note: Annotated[str | None, typer.Option(help="Anything else.")] = None,
    agent: Speaker = None,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Register a model: answers that claim it, under any dated or prefixed name, are of a known model.

    Example: tallystick model register example-large --provider Example --name "Example Large"
    """
    import asyncio

    from api.cli.render.models import print_placed

    said = given(provider=provider, name=name, note=note, agent=agent)
    placed = asyncio.run(_register(ledger_of(context), url, token, key, said))
    print_placed(placed, f"Model {key} is registered", as_json=as_json)


async def _register(
    ledger: "Path", url: str | None, token: str | None, key: str, said: dict[str, str]
) -> "AppendResult":
    from api.cli.open_ledger import open_store
    from api.service.model_registry import register

    async with open_store(ledger, url, token) as target:
        return await register(target, key, **said)


@app.command("alias")
def alias(
    context: typer.Context,
    key: Key,
    alias: Annotated[str, typer.Argument(metavar="NAME", help="Another name of it, as answers claim it, in any case.")],
    *,
    agent: Speaker = None,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Give a registered model another name. What you say wins over every rule, and the latest word counts.

    Example: tallystick model alias example-large "Example Large (preview)"
    """
    import asyncio

    from api.cli.render.models import print_placed

    placed = asyncio.run(_alias(ledger_of(context), url, token, key, alias, agent))
    print_placed(placed, f"Model {key} goes by {alias!r}, too", as_json=as_json)


async def _alias(
    ledger: "Path", url: str | None, token: str | None, key: str, name: str, agent: str | None
) -> "AppendResult":
    from api.cli.open_ledger import open_store
    from api.service.model_registry import alias

    async with open_store(ledger, url, token) as target:
        return await alias(target, key, name, agent=agent)


@app.command("list")
def list_(context: typer.Context, as_of: AsOf = None, as_json: AsJson = False) -> None:
    """List the registered models with their names, and whether they were sighted.

    Example: tallystick model list
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.models import print_models

    found = asyncio.run(_list(ledger_of(context), as_of))
    if as_json:
        print_json(found)
    else:
        print_models(found)


async def _list(ledger: "Path", as_of: str | None) -> "ModelList":
    from api.cli.open_ledger import open_reader
    from api.service.models import registered

    async with open_reader(ledger) as service:
        return await registered(service, await service.resolve(as_of))
