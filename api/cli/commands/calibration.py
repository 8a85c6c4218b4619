"""calibration, advice: stated confidence against outcomes."""

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
from api.service.calibration import advise, compute_calibration

if TYPE_CHECKING:
    from pathlib import Path

    from api.service.calibration import Advice, CalibrationAnswer


def calibration(
    context: typer.Context,
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
        str | None, typer.Option(help="confidence_bucket, category, stakes, agent, project or feature.")
    ] = None,
    min_decisions: Annotated[
        str | None, typer.Option(help="Reviewed decisions below which there are no figures.  \\[default: 5]")
    ] = None,
    detail: Annotated[
        str | None, typer.Option(help="figures, or curves: curve, band and what each confidence meant.")
    ] = None,
    include: Annotated[
        str | None, typer.Option(help="What to add, separated by commas: trend, drift, comparison (of agents).")
    ] = None,
    trend_days: Annotated[str | None, typer.Option(help="Days of a window of the trend.  \\[default: 30]")] = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Is it as good as it thinks it is?

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
    answer = asyncio.run(_calibration(ledger_of(context), parameters, as_of))
    if as_json:
        print_json(answer)
    else:
        print_calibration(answer, agent, parameters.get("group_by", "confidence_bucket"))


async def _calibration(ledger: "Path", parameters: dict[str, str], as_of: str | None) -> "CalibrationAnswer":
    from api.cli.open_ledger import open_reader
    from api.service.query_params import parse_calibration_query
    from ledger import system_clock

    asked = parse_calibration_query(parameters, system_clock())
    async with open_reader(ledger) as service:
        return await compute_calibration(service, asked, await service.resolve(as_of))


def advice(
    context: typer.Context,
    *,
    agent: Annotated[str, typer.Option(help="Whose decision it will be.")],
    category: Category = None,
    stakes: Stakes = None,
    confidence: Annotated[str | None, typer.Option(help="How sure it is, 0 to 1; without it, of any.")] = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Before deciding: what have decisions like this one come to?

    Example: tallystick advice --agent claude --category architecture --stakes high --confidence 0.9
    """
    import asyncio

    from api.cli.output import out, print_json

    parameters = given(agent=agent, category=category, stakes=stakes, confidence=confidence)
    found = asyncio.run(_advice(ledger_of(context), parameters, as_of))
    if as_json:
        print_json(found)
    else:
        out().print(found.message)


async def _advice(ledger: "Path", parameters: dict[str, str], as_of: str | None) -> "Advice":
    from api.cli.open_ledger import open_reader
    from api.service.query_params import parse_planned_decision

    asked = parse_planned_decision(parameters, parameters["agent"])
    async with open_reader(ledger) as service:
        return await advise(service, asked, await service.resolve(as_of))
