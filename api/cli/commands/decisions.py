"""decisions, decision: the list, and one with its history."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import (
    Agent,
    AsJson,
    AsOf,
    Category,
    Feature,
    Project,
    Since,
    Stakes,
    Until,
    Window,
    given,
    ledger_of,
)
from api.service.decisions import find_decision, select_decisions

if TYPE_CHECKING:
    from pathlib import Path

    from api.service.decisions import DecisionPage
    from projections.decisions.decision_state import DecisionState


def decisions(
    context: typer.Context,
    *,
    agent: Agent = None,
    category: Category = None,
    stakes: Stakes = None,
    project: Project = None,
    feature: Feature = None,
    status: Annotated[str | None, typer.Option(help="pending or reviewed.")] = None,
    outcome: Annotated[str | None, typer.Option(help="success, partial, failure or abandoned.")] = None,
    tag: Annotated[str | None, typer.Option(help="Any of these tags, separated by commas.")] = None,
    since: Since = None,
    until: Until = None,
    window: Window = None,
    search: Annotated[str | None, typer.Option(help="Every one of these words somewhere in the texts.")] = None,
    sort: Annotated[str | None, typer.Option(help="created_at, confidence, category, stakes or status.")] = None,
    order: Annotated[str | None, typer.Option(help="asc or desc.")] = None,
    limit: Annotated[str | None, typer.Option(help="At most so many.  \\[default: 100]")] = None,
    offset: Annotated[str | None, typer.Option(help="Leave out so many first.")] = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """List decisions as they stand, the newest first.

    Example: tallystick decisions --agent claude --status pending --stakes high
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.decisions import print_decisions

    parameters = given(
        agent=agent, category=category, stakes=stakes, project=project, feature=feature, status=status,
        outcome=outcome, tag=tag, since=since, until=until, window=window, search=search, sort=sort, order=order,
        limit=limit, offset=offset,
    )  # fmt: skip
    page = asyncio.run(_decisions(ledger_of(context), parameters, as_of))
    if as_json:
        print_json(page)
    else:
        print_decisions(page)


async def _decisions(ledger: "Path", parameters: dict[str, str], as_of: str | None) -> "DecisionPage":
    from api.cli.open_ledger import open_reader
    from api.service.query_params import parse_decision_query
    from ledger import system_clock

    asked = parse_decision_query(parameters, system_clock())
    async with open_reader(ledger) as service:
        return await select_decisions(service, asked, await service.resolve(as_of))


def decision(
    context: typer.Context,
    decision_id: Annotated[str, typer.Argument(metavar="ID", help="Its id, or an unambiguous beginning of it.")],
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Show one decision with its history.

    Example: tallystick decision 3f2a9c1e
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.decisions import print_decision

    standing = asyncio.run(_decision(ledger_of(context), decision_id, as_of))
    if as_json:
        print_json(standing)
    else:
        print_decision(standing)


async def _decision(ledger: "Path", decision_id: str, as_of: str | None) -> "DecisionState":
    from api.cli.open_ledger import open_reader

    async with open_reader(ledger) as service:
        return await find_decision(service, decision_id, await service.resolve(as_of), prefix=True)
