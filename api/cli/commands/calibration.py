"""calibration, advice: stated confidence against outcomes."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import (
    Agent,
    AsOf,
    Category,
    Feature,
    Project,
    Since,
    Stakes,
    Until,
    Window,
    choice,
    given,
)
from api.cli.target import Target, verb

if TYPE_CHECKING:
    from api.service.calibration import Advice, CalibrationAnswer

GROUPINGS = ("confidence_bucket", "category", "stakes", "agent", "project", "feature")
DETAILS = ("figures", "curves")
INCLUSIONS = ("trend", "drift", "comparison")


@verb()
def calibration(
    target: Target,
    *,
    agent: Agent = None,
    category: Category = None,
    stakes: Stakes = None,
    project: Project = None,
    feature: Feature = None,
    since: Since = None,
    until: Until = None,
    window: Window = None,
    group_by: Annotated[
        str | None, choice("One row of figures for each of these.", GROUPINGS, also=("confidenceBucket",))
    ] = None,
    min_decisions: Annotated[
        str | None, typer.Option(help="Reviewed decisions needed for figures.  \\[default: 5]")
    ] = None,
    detail: Annotated[
        str | None, choice("curves adds the curve, its band, and what each confidence has meant.", DETAILS)
    ] = None,
    include: Annotated[
        str | None, choice("Add these, separated by commas; comparison is of agents.", INCLUSIONS, separator=",")
    ] = None,
    trend_days: Annotated[str | None, typer.Option(help="Days in a window of the trend.  \\[default: 30]")] = None,
    as_of: AsOf = None,
) -> None:
    """Compare stated confidence with outcomes.

    A question mark after a verdict means that the data cannot confirm it yet.

    Example: tallystick calibration --agent claude --group-by category --detail curves
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.calibration import print_calibration

    parameters = given(
        agent=agent, category=category, stakes=stakes, project=project, feature=feature, since=since, until=until,
        window=window, group_by=group_by, min_decisions=min_decisions, detail=detail,
        include=include, trend_days=trend_days,
    )  # fmt: skip
    answer = asyncio.run(_calibration(target, parameters, as_of))
    if target.json:
        print_json(answer)
    else:
        print_calibration(answer, agent, parameters.get("group_by", "confidence_bucket"))


async def _calibration(target: Target, parameters: dict[str, str], as_of: str | None) -> "CalibrationAnswer":
    from api.cli.open_ledger import open_reader
    from api.service.calibration import compute_calibration
    from api.service.query_params import question
    from ledger import system_clock

    query = question(parameters, system_clock())
    async with open_reader(target.ledger) as service:
        return await compute_calibration(service, query, await service.resolve(as_of))


@verb()
def advice(
    target: Target,
    *,
    agent: Annotated[str, typer.Option(help="The agent that is about to decide.")],
    category: Category = None,
    stakes: Stakes = None,
    confidence: Annotated[
        str | None, typer.Option(help="How confident the agent is, 0 to 1. Without it, decisions of any confidence.")
    ] = None,
    as_of: AsOf = None,
) -> None:
    """Show how earlier decisions like a planned one turned out.

    Example: tallystick advice --agent claude --category architecture --stakes high --confidence 0.9
    """
    import asyncio

    from api.cli.output import open_console, print_json

    parameters = given(agent=agent, category=category, stakes=stakes, confidence=confidence)
    found = asyncio.run(_advice(target, parameters, as_of))
    if target.json:
        print_json(found)
    else:
        open_console().print(found.message)


async def _advice(target: Target, parameters: dict[str, str], as_of: str | None) -> "Advice":
    from api.cli.open_ledger import open_reader
    from api.service.calibration import advise
    from api.service.query_params import plan

    planned = plan(parameters, parameters["agent"])
    async with open_reader(target.ledger) as service:
        return await advise(service, planned, await service.resolve(as_of))
