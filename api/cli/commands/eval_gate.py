"""eval gate: fail if an evaluation is worse than its baseline."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.commands.eval_show import Html, Junit, Markdown
from api.cli.errors import exit_2_on_error
from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import AsOf

if TYPE_CHECKING:
    from api.reports import EvaluationReport

Run = Annotated[
    str, typer.Option("--run", help="The candidate; latest is the newest run that has ended.", metavar="RUN")
]
Baseline = Annotated[
    str, typer.Option(help="The run to compare with; latest is the newest before it on the same suite.", metavar="RUN")
]
Regressions = Annotated[int, typer.Option(min=0, help="Allow this many regressed scenarios.", metavar="N")]
Errors = Annotated[int, typer.Option(min=0, help="Allow this many errors of the candidate.", metavar="N")]
Score = Annotated[float | None, typer.Option(min=0, max=100, help="The lowest allowed mean, 0 to 100.", metavar="X")]


@verb(server=True, reads=True)
@exit_2_on_error()
def gate(
    target: LedgerTarget,
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
) -> None:
    """Check that an evaluation is not worse than its baseline.

    Regressed scenarios come first, with the patterns that used to match. A scenario has regressed if it is missing, or
    if fewer of the attempts that both runs have pass; it is counted once. Exit code 1: more regressed than allowed, or
    the mean is too low. Otherwise 2 if it cannot be judged: errors, no score, nothing comparable. Otherwise 0.

    Example: tallystick eval gate --baseline latest --suite examples --markdown comment.md

    Example: tallystick eval gate --baseline 3f2a9c1e --run 77aa01be --max-regressions 1
    """
    from api.cli.open_ledger import answer_as_of
    from api.cli.output import print_json, print_note
    from api.cli.render.evaluations import print_comparison
    from api.reports import GateLimits, ReportFiles
    from api.service.evaluation.gate import GateQuery, build_gate_answer, judge_run

    files = ReportFiles.checked(target.ledger, junit=junit, html=html, markdown=markdown)
    limits = GateLimits(regressions=max_regressions, errors=max_errors, score=min_score)
    query = GateQuery(baseline=baseline, candidate=run, suite=suite, limits=limits)
    report = answer_as_of(
        target,
        as_of,
        lambda service, position: judge_run(service, query, position),
        lambda server: server.gate_report(query),
    )
    files.write(report)
    if baseline == "latest":
        print_note(_baseline_note(report))
    if target.json:
        print_json(build_gate_answer(report))
    else:
        print_comparison(report)
    assert report.judgement is not None
    if report.judgement.exit:
        raise typer.Exit(report.judgement.exit)


def _baseline_note(report: "EvaluationReport") -> str:
    """Return a sentence that names the run which `latest` selected."""
    assert report.contrast is not None
    first, second = report.contrast.baseline, report.contrast.candidate
    agent = "the same agent" if first.agent == second.agent else "another agent, because the same one has none"
    return f"Baseline: {first.run_id}, the latest before {second.run_id}, by {agent}."
