"""eval show, eval compare, eval list, scoreboard: what evaluations came to."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.options import AsJson, AsOf, given, ledger_of

if TYPE_CHECKING:
    from api.reports import EvaluationReport
    from api.service.evaluation.queries import EvaluationPage, ScoreboardAnswer

Junit = Annotated[Path | None, typer.Option(help="Write JUnit XML, for a CI server.", metavar="FILE")]
Html = Annotated[Path | None, typer.Option(help="Write one self-contained page.", metavar="FILE")]
Markdown = Annotated[Path | None, typer.Option(help="Write Markdown, for a pull request.", metavar="FILE")]
Suite = Annotated[str | None, typer.Option(help="Only this suite's.", metavar="NAME")]
Agent = Annotated[str | None, typer.Option(help="Only this agent's.", metavar="NAME")]

RUN = "Its id, or an unambiguous beginning of it."


def show(
    context: typer.Context,
    run_id: Annotated[str, typer.Argument(metavar="RUN", help=RUN)],
    *,
    scenario: Annotated[
        str | None, typer.Option(help="Only this scenario, with all that was looked for.", metavar="ID")
    ] = None,
    analyses: Annotated[bool, typer.Option("--analyses", help="Every answer, too.")] = False,
    junit: Junit = None,
    html: Html = None,
    markdown: Markdown = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Show one evaluation: each scenario with its score in parts, what did not match, and errors with their last lines.

    Example: tallystick eval show 3f2a9c1e --scenario image-pull

    Example: tallystick eval show 3f2a9c1e --html report.html
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.evaluations import print_scenario, print_whole
    from api.reports import ReportFiles
    from api.service.evaluation.report_data import scenario_of, without_analyses

    files = ReportFiles.checked(ledger_of(context), junit=junit, html=html, markdown=markdown)
    report = asyncio.run(_show(ledger_of(context), run_id, as_of))
    one = scenario_of(report.evaluation, scenario) if scenario is not None else None
    files.write(report)
    if as_json:
        shown = report.evaluation if one is None else one
        print_json(shown if analyses else without_analyses(shown))
    elif one is None:
        print_whole(report.evaluation)
    else:
        print_scenario(one, analyses=analyses)


async def _show(ledger: Path, run_id: str, as_of: str | None) -> "EvaluationReport":
    from api.cli.open_ledger import open_reader
    from api.service.evaluation.report_data import report_of

    async with open_reader(ledger) as service:
        return await report_of(service, run_id, await service.resolve(as_of))


def compare(
    context: typer.Context,
    baseline: Annotated[str, typer.Argument(metavar="BASELINE", help=f"{RUN} latest is the newest before the other.")],
    candidate: Annotated[str, typer.Argument(metavar="CANDIDATE", help=RUN)],
    *,
    html: Html = None,
    markdown: Markdown = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Compare two evaluations by scenario and attempt: what regressed first, with what used to match.

    Example: tallystick eval compare 3f2a9c1e 77aa01be
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.evaluations import print_comparison
    from api.reports import ReportFiles

    files = ReportFiles.checked(ledger_of(context), html=html, markdown=markdown)
    report = asyncio.run(_compare(ledger_of(context), baseline, candidate, as_of))
    files.write(report)
    if as_json:
        print_json(report.contrast)
    else:
        print_comparison(report)


async def _compare(ledger: Path, baseline: str, candidate: str, as_of: str | None) -> "EvaluationReport":
    from api.cli.open_ledger import open_reader
    from api.service.evaluation.report_data import comparison

    async with open_reader(ledger) as service:
        return await comparison(service, baseline, candidate, await service.resolve(as_of))


def list_(
    context: typer.Context,
    *,
    suite: Suite = None,
    agent: Agent = None,
    since: Annotated[str | None, typer.Option(help="Begun then or later.", metavar="TIME")] = None,
    until: Annotated[str | None, typer.Option(help="Begun then or earlier.", metavar="TIME")] = None,
    window: Annotated[str | None, typer.Option(help="30d, 60d, 90d or all, back from now; beats --since.")] = None,
    limit: Annotated[str | None, typer.Option(help="At most so many.  \\[default: 100]")] = None,
    offset: Annotated[str | None, typer.Option(help="Leave out so many first.")] = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """List evaluations, the one that began last first.

    Example: tallystick eval list --suite examples --since 2026-02-01
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.evaluations import print_list

    parameters = given(suite=suite, agent=agent, since=since, until=until, window=window, limit=limit, offset=offset)
    page = asyncio.run(_list(ledger_of(context), parameters, as_of))
    if as_json:
        print_json(page)
    else:
        print_list(page)


async def _list(ledger: Path, parameters: dict[str, str], as_of: str | None) -> "EvaluationPage":
    from api.cli.open_ledger import open_reader
    from api.service.evaluation.queries import list_evaluations
    from api.service.query_params import parse_evaluation_query
    from ledger import system_clock

    asked = parse_evaluation_query(parameters, system_clock())
    async with open_reader(ledger) as service:
        return await list_evaluations(service, asked, await service.resolve(as_of))


def scoreboard(
    context: typer.Context,
    *,
    suite: Suite = None,
    agent: Agent = None,
    versions: Annotated[
        str | None, typer.Option(help="The newest so many of each agent.  \\[default: 100]", metavar="N")
    ] = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Did the last change make it worse? Each version of each agent, by suite, over all its runs.

    Example: tallystick scoreboard --suite examples --as-of 2026-02-01
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.scoreboard import print_board

    parameters = given(suite=suite, agent=agent, versions=versions)
    found = asyncio.run(_scoreboard(ledger_of(context), parameters, as_of))
    if as_json:
        print_json(found)
    else:
        print_board(found, narrowed=suite is not None or agent is not None)


async def _scoreboard(ledger: Path, parameters: dict[str, str], as_of: str | None) -> "ScoreboardAnswer":
    from api.cli.open_ledger import open_reader
    from api.service.evaluation.queries import scoreboard
    from api.service.query_params import parse_scoreboard_query

    wanted = parse_scoreboard_query(parameters)
    async with open_reader(ledger) as service:
        return await scoreboard(service, wanted, await service.resolve(as_of))
