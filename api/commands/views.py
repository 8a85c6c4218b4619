"""calibration, advice, decisions, decision, projections: the views."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.commands.options import AsJson, AsOf, given, ledger_of

if TYPE_CHECKING:
    from pathlib import Path

    from api.answers import Advice, CalibrationAnswer, DecisionPage, ProjectionInfo
    from projections import Standing

Agent = Annotated[str | None, typer.Option(help="Only this agent's.")]
Category = Annotated[str | None, typer.Option(help="Only this category.")]
Stakes = Annotated[str | None, typer.Option(help="low, medium, high or critical.")]
Project = Annotated[str | None, typer.Option(help="Only this project.")]
Feature = Annotated[str | None, typer.Option(help="Only this feature.")]
Since = Annotated[str | None, typer.Option(help="Decided then or later.", metavar="TIME")]
Until = Annotated[str | None, typer.Option(help="Decided then or earlier.", metavar="TIME")]
Window = Annotated[str | None, typer.Option(help="30d, 60d, 90d or all, back from now; beats --since.")]


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

    from api.commands.scores import print_calibration
    from api.printing import print_json

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
    from api.reading import reading
    from api.views import question
    from ledger import system_clock

    asked = question(parameters, system_clock())
    async with reading(ledger) as house:
        return await house.calibration(asked, await house.resolve(as_of))


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

    from api.printing import out, print_json

    parameters = given(agent=agent, category=category, stakes=stakes, confidence=confidence)
    found = asyncio.run(_advice(ledger_of(context), parameters, as_of))
    if as_json:
        print_json(found)
    else:
        out().print(found.message)


async def _advice(ledger: "Path", parameters: dict[str, str], as_of: str | None) -> "Advice":
    from api.reading import reading
    from api.views import plan

    asked = plan(parameters, parameters["agent"])
    async with reading(ledger) as house:
        return await house.advice(asked, await house.resolve(as_of))


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

    from api.commands.figures import print_decisions
    from api.printing import print_json

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
    from api.reading import reading
    from api.views import decision_query
    from ledger import system_clock

    asked = decision_query(parameters, system_clock())
    async with reading(ledger) as house:
        return await house.decisions(asked, await house.resolve(as_of))


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

    from api.commands.figures import print_decision
    from api.printing import print_json

    standing = asyncio.run(_decision(ledger_of(context), decision_id, as_of))
    if as_json:
        print_json(standing)
    else:
        print_decision(standing)


async def _decision(ledger: "Path", decision_id: str, as_of: str | None) -> "Standing":
    from api.reading import reading

    async with reading(ledger) as house:
        return await house.decision(decision_id, await house.resolve(as_of), prefix=True)


def projections(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One of them; all without it.")] = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """List the views, or show one: its digest and its summary.

    Example: tallystick projections calibration --as-of 2026-11-01
    """
    import asyncio

    import msgspec

    from api.printing import count, out, print_json, print_line, table
    from api.problems import to_json

    found = asyncio.run(_projections(ledger_of(context), name, as_of))
    if as_json:
        print_json(found if name is not None else {"projections": found})
    elif not isinstance(found, list):
        print_line(msgspec.json.format(to_json(found)))
    else:
        shown = table("projection", "version", "position", "reads", right=("position",))
        for info in found:
            shown.add_row(info.name, str(info.version), count(info.position), ", ".join(info.types))
        out().print(shown)


async def _projections(ledger: "Path", name: str | None, as_of: str | None) -> "ProjectionInfo | list[ProjectionInfo]":
    from api.reading import reading
    from ledger.errors import InvalidQuery

    if name is None and as_of is not None:
        raise InvalidQuery("as_of", "needs the name of a projection.", "Write: tallystick projections NAME --as-of ...")
    async with reading(ledger) as house:
        if name is None:
            return await house.projections()
        return await house.projection(name, await house.resolve(as_of))
