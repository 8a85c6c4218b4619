"""eval show, eval compare, eval list, scoreboard: the results of evaluations."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import AsOf, BegunSince, BegunUntil, Limit, Offset, Window, given

if TYPE_CHECKING:
    from api.reports import EvaluationReport
    from api.service.evaluation.queries import EvaluationPage, ScoreboardAnswer

Junit = Annotated[Path | None, typer.Option(help="Write JUnit XML, for a CI server.", metavar="FILE")]
Html = Annotated[Path | None, typer.Option(help="Write one self-contained HTML page.", metavar="FILE")]
Markdown = Annotated[Path | None, typer.Option(help="Write Markdown, for a pull request.", metavar="FILE")]
Suite = Annotated[str | None, typer.Option(help="Only this suite.", metavar="NAME")]
Agent = Annotated[str | None, typer.Option(help="Only this agent.", metavar="NAME")]

RUN = "The id, or an unambiguous beginning of it."


@verb()
def show(
    target: LedgerTarget,
    run_id: Annotated[str, typer.Argument(metavar="RUN", help=RUN)],
    *,
    scenario: Annotated[
        str | None, typer.Option(help="Only this scenario, with every expected pattern.", metavar="ID")
    ] = None,
    analyses: Annotated[bool, typer.Option("--analyses", help="Show every answer, too.")] = False,
    junit: Junit = None,
    html: Html = None,
    markdown: Markdown = None,
    as_of: AsOf = None,
) -> None:
    """Show one evaluation.

    For each scenario: the score in parts, the patterns that did not match, and errors with the last lines of output.

    Example: tallystick eval show 3f2a9c1e --scenario image-pull

    Example: tallystick eval show 3f2a9c1e --html report.html
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.evaluations import print_evaluation_detail, print_scenario
    from api.reports import ReportFiles
    from api.service.evaluation.report_data import find_scenario_result, without_analyses

    files = ReportFiles.checked(target.ledger, junit=junit, html=html, markdown=markdown)
    report = asyncio.run(_show(target, run_id, as_of))
    one = find_scenario_result(report.evaluation, scenario) if scenario is not None else None
    files.write(report)
    if target.json:
        shown = report.evaluation if one is None else one
        print_json(shown if analyses else without_analyses(shown))
    elif one is None:
        print_evaluation_detail(report.evaluation)
    else:
        print_scenario(one, analyses=analyses)


async def _show(target: LedgerTarget, run_id: str, as_of: str | None) -> "EvaluationReport":
    from api.cli.open_ledger import open_reader
    from api.service.evaluation.report_data import build_evaluation_report

    async with open_reader(target.ledger) as service:
        return await build_evaluation_report(service, run_id, await service.resolve(as_of))


@verb()
def compare(
    target: LedgerTarget,
    baseline: Annotated[str, typer.Argument(metavar="BASELINE", help=f"{RUN} latest is the newest before the other.")],
    candidate: Annotated[str, typer.Argument(metavar="CANDIDATE", help=RUN)],
    *,
    html: Html = None,
    markdown: Markdown = None,
    as_of: AsOf = None,
) -> None:
    """Compare two evaluations, scenario by scenario.

    Regressed scenarios come first, with the patterns that used to match.

    Example: tallystick eval compare 3f2a9c1e 77aa01be
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.evaluations import print_comparison
    from api.reports import ReportFiles

    files = ReportFiles.checked(target.ledger, html=html, markdown=markdown)
    report = asyncio.run(_compare(target, baseline, candidate, as_of))
    files.write(report)
    if target.json:
        print_json(report.contrast)
    else:
        print_comparison(report)


async def _compare(target: LedgerTarget, baseline: str, candidate: str, as_of: str | None) -> "EvaluationReport":
    from api.cli.open_ledger import open_reader
    from api.service.evaluation.report_data import build_comparison_report

    async with open_reader(target.ledger) as service:
        return await build_comparison_report(service, baseline, candidate, await service.resolve(as_of))


@verb()
def list_evaluations(
    target: LedgerTarget,
    *,
    suite: Suite = None,
    agent: Agent = None,
    since: BegunSince = None,
    until: BegunUntil = None,
    window: Window = None,
    limit: Limit = None,
    offset: Offset = None,
    as_of: AsOf = None,
) -> None:
    """List evaluations.

    The newest comes first.

    Example: tallystick eval list --suite examples --since 2026-02-01
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.evaluations import print_evaluation_list

    parameters = given(suite=suite, agent=agent, since=since, until=until, window=window, limit=limit, offset=offset)
    page = asyncio.run(_list(target, parameters, as_of))
    if target.json:
        print_json(page)
    else:
        print_evaluation_list(page)


async def _list(target: LedgerTarget, parameters: dict[str, str], as_of: str | None) -> "EvaluationPage":
    from api.cli.open_ledger import open_reader
    from api.service.evaluation.queries import list_evaluations
    from api.service.query_params import parse_evaluation_query
    from ledger import system_clock

    query = parse_evaluation_query(parameters, system_clock())
    async with open_reader(target.ledger) as service:
        return await list_evaluations(service, query, await service.resolve(as_of))


@verb()
def scoreboard(
    target: LedgerTarget,
    *,
    suite: Suite = None,
    agent: Agent = None,
    versions: Annotated[
        str | None, typer.Option(help="The newest versions of each agent, this many.  \\[default: 100]", metavar="N")
    ] = None,
    as_of: AsOf = None,
) -> None:
    """Compare the versions of each agent, suite by suite.

    Did the last change make it worse? Each version counts with all its runs.

    Example: tallystick scoreboard --suite examples --as-of 2026-02-01
    """
    import asyncio

    from api.cli.output import print_json
    from api.cli.render.scoreboard import print_scoreboard

    parameters = given(suite=suite, agent=agent, versions=versions)
    found = asyncio.run(_scoreboard(target, parameters, as_of))
    if target.json:
        print_json(found)
    else:
        print_scoreboard(found, filtered=suite is not None or agent is not None)


async def _scoreboard(target: LedgerTarget, parameters: dict[str, str], as_of: str | None) -> "ScoreboardAnswer":
    from api.cli.open_ledger import open_reader
    from api.service.evaluation.queries import show_scoreboard
    from api.service.query_params import parse_scoreboard_query

    query = parse_scoreboard_query(parameters)
    async with open_reader(target.ledger) as service:
        return await show_scoreboard(service, query, await service.resolve(as_of))
