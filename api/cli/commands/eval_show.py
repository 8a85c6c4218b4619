"""eval show, eval compare, eval list and scoreboard: print the results of evaluations."""

from pathlib import Path
from typing import Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import AsOf
from api.service.run_params import EvaluationQuery
from projections.evaluation.query_params import ScoreboardQuery

Junit = Annotated[Path | None, typer.Option(help="Write JUnit XML, for a CI server.", metavar="FILE")]
Html = Annotated[Path | None, typer.Option(help="Write one self-contained HTML page.", metavar="FILE")]
Markdown = Annotated[Path | None, typer.Option(help="Write Markdown, for a pull request.", metavar="FILE")]

RUN_HELP = "The id, or an unambiguous beginning of it."


@verb(server=True, reads=True)
def show(
    target: LedgerTarget,
    run_id: Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP)],
    *,
    scenario: Annotated[
        str | None, typer.Option(help="Only this scenario, with every expected pattern.", metavar="ID")
    ] = None,
    fixture: Annotated[
        str | None, typer.Option(help="Show the files of this scenario, as the run kept them.", metavar="ID")
    ] = None,
    analyses: Annotated[bool, typer.Option("--analyses", help="Show every answer, too.")] = False,
    trace: Annotated[
        str | None,
        typer.Option(help="Only the steps that the agent recorded in this attempt.", metavar="SCENARIO[/ATTEMPT]"),
    ] = None,
    junit: Junit = None,
    html: Html = None,
    markdown: Markdown = None,
    as_of: AsOf = None,
) -> None:
    """Show one evaluation.

    For each scenario: the score in parts, the patterns that did not match, and errors with the last lines of output.
    With --trace: the steps of one attempt, its first without /ATTEMPT.

    Example: tallystick eval show 3f2a9c1e --scenario image-pull

    Example: tallystick eval show 3f2a9c1e --trace image-pull/2

    Example: tallystick eval show 3f2a9c1e --html report.html

    Example: tallystick eval show 3f2a9c1e --fixture image-pull
    """
    if fixture is not None:
        from api.cli.commands.eval_suite import show_fixture
        from ledger.errors import InvalidQuery

        if scenario or analyses or junit or html or markdown:
            raise InvalidQuery("fixture", "is given beside an option about answers.", "Leave out the other one.")
        show_fixture(target, run_id, fixture, as_of)
        return
    from api.cli.open_ledger import use_answers
    from api.cli.output import print_json
    from api.cli.render.evaluations import print_evaluation_detail, print_scenario
    from api.reports import ReportFiles
    from api.service.evaluation.queries import find_scenario_result, without_analyses
    from api.service.evaluation.report_data import build_evaluation_report
    from ledger.errors import InvalidQuery

    files = ReportFiles.checked(target.place.path, junit=junit, html=html, markdown=markdown)
    if trace is not None:
        if scenario is not None or analyses or junit or html or markdown:
            raise InvalidQuery("trace", "shows the steps of one attempt and nothing else.", "Leave the others out.")
        _show_trace(target, run_id, trace, as_of)
        return
    report = use_answers(target, as_of, lambda answers: build_evaluation_report(answers, run_id))
    result = find_scenario_result(report.evaluation, scenario) if scenario is not None else None
    files.write(report)
    if target.json:
        answer = report.evaluation if result is None else result
        print_json(answer if analyses else without_analyses(answer))
    elif result is None:
        print_evaluation_detail(report.evaluation)
    else:
        print_scenario(result, analyses=analyses)


def _show_trace(target: LedgerTarget, run_id: str, attempt: str, as_of: str | None) -> None:
    """Print the recorded steps of one attempt."""
    from api.cli.open_ledger import use_answers
    from api.cli.output import print_json
    from api.cli.render.traces import print_trace
    from api.service.evaluation.trace_queries import show_trace

    answer = use_answers(target, as_of, lambda answers: show_trace(answers, run_id, attempt))
    if target.json:
        print_json(answer)
    else:
        print_trace(answer)


@verb(server=True, reads=True)
def compare(
    target: LedgerTarget,
    baseline: Annotated[
        str, typer.Argument(metavar="BASELINE", help=f"{RUN_HELP} latest is the newest before the candidate.")
    ],
    candidate: Annotated[str, typer.Argument(metavar="CANDIDATE", help=RUN_HELP)],
    *,
    html: Html = None,
    markdown: Markdown = None,
    as_of: AsOf = None,
) -> None:
    """Compare two evaluations, scenario by scenario.

    Regressed scenarios come first, with the patterns that used to match.

    Example: tallystick eval compare 3f2a9c1e 77aa01be
    """
    from api.cli.open_ledger import use_answers
    from api.cli.output import print_json
    from api.cli.render.evaluations import print_comparison
    from api.reports import ReportFiles
    from api.service.evaluation.report_data import build_comparison_report

    files = ReportFiles.checked(target.place.path, html=html, markdown=markdown)
    report = use_answers(target, as_of, lambda answers: build_comparison_report(answers, baseline, candidate))
    files.write(report)
    if target.json:
        print_json(report.contrast)
    else:
        print_comparison(report)


@verb(server=True, reads=True)
def list_evaluations(target: LedgerTarget, params: EvaluationQuery, as_of: AsOf = None) -> None:
    """List evaluations.

    The newest comes first.

    Example: tallystick eval list --suite examples --since 2026-02-01
    """
    from api.cli.open_ledger import ask, show
    from api.cli.render.evaluations import print_evaluation_list
    from api.service.evaluation.queries import get_evaluations

    show(target, ask(target, get_evaluations, params, as_of), print_evaluation_list)


@verb(server=True, reads=True)
def scoreboard(target: LedgerTarget, params: ScoreboardQuery, as_of: AsOf = None) -> None:
    """Compare the versions of each agent, suite by suite.

    Shows whether the last change made an agent worse. The scores of a version are those of all its runs.

    Example: tallystick scoreboard --suite examples --as-of 2026-02-01
    """
    from api.cli.open_ledger import ask, show
    from api.cli.render.scoreboard import print_scoreboard
    from api.service.evaluation.queries import get_scoreboard

    filtered = params.suite is not None or params.agent is not None
    answer = ask(target, get_scoreboard, params, as_of)
    show(target, answer, lambda board: print_scoreboard(board, filtered=filtered))
