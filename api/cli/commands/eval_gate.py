"""eval gate: whether a change may go through."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.commands.eval_show import Html, Junit, Markdown
from api.cli.errors import judging
from api.cli.options import AsJson, AsOf, ledger_of

if TYPE_CHECKING:
    from api.reports import EvaluationReport
    from api.service.evaluation.report_data import GateQuery

Run = Annotated[str, typer.Option("--run", help="The candidate; latest is the newest that has ended.", metavar="RUN")]
Baseline = Annotated[
    str,
    typer.Option(help="What it is compared with; latest is the newest before it on the same suite.", metavar="RUN"),
]
Regressions = Annotated[int, typer.Option(min=0, help="Regressed scenarios that are allowed.", metavar="N")]
Errors = Annotated[int, typer.Option(min=0, help="Errors of the candidate that are allowed.", metavar="N")]
Score = Annotated[float | None, typer.Option(min=0, max=100, help="The least mean, in points of 100.", metavar="X")]


@judging()
def gate(
    context: typer.Context,
    baseline: Baseline,
    *,
    run: Run = "latest",
    suite: Annotated[str | None, typer.Option(help="The suite of the latest run.", metavar="NAME")] = None,
    max_regressions: Regressions = 0,
    min_score: Score = None,
    max_errors: Errors = 0,
    junit: Junit = None,
    html: Html = None,
    markdown: Markdown = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """Did the last change make it worse? Names what regressed first, with what used to match, and judges.

    A scenario regressed where fewer of its attempts pass than did, of those that both runs have, or where it is
    missing; each counts once. Exit code 1 where more regressed than allowed or the mean is too low; otherwise 2 where
    it cannot be judged: errors, no score, nothing comparable; otherwise 0.

    Example: tallystick eval gate --baseline latest --suite examples --markdown comment.md

    Example: tallystick eval gate --baseline 3f2a9c1e --run 77aa01be --max-regressions 1
    """
    import asyncio

    from api.cli.output import print_json, say
    from api.cli.render.evaluations import print_comparison
    from api.reports import GateLimits, ReportFiles
    from api.service.evaluation.report_data import GateQuery, answer_of

    files = ReportFiles.checked(ledger_of(context), junit=junit, html=html, markdown=markdown)
    limits = GateLimits(regressions=max_regressions, errors=max_errors, score=min_score)
    asked = GateQuery(baseline=baseline, candidate=run, suite=suite, limits=limits)
    report = asyncio.run(_gate(ledger_of(context), asked, as_of))
    files.write(report)
    if baseline == "latest":
        say(_taken(report))
    if as_json:
        print_json(answer_of(report))
    else:
        print_comparison(report)
    assert report.judgement is not None
    if report.judgement.exit:
        raise typer.Exit(report.judgement.exit)


def _taken(report: "EvaluationReport") -> str:
    """Which run `latest` was taken for."""
    assert report.contrast is not None
    first, second = report.contrast.baseline, report.contrast.candidate
    whose = "by the same agent" if first.agent == second.agent else "by another agent, as there is none by the same"
    return f"Baseline: {first.run_id}, the latest before {second.run_id}, {whose}."


async def _gate(ledger: Path, asked: "GateQuery", as_of: str | None) -> "EvaluationReport":
    from api.cli.open_ledger import open_reader
    from api.service.evaluation.report_data import gate

    async with open_reader(ledger) as service:
        return await gate(service, asked, await service.resolve(as_of))
