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
Regressions = Annotated[
    int | None, typer.Option(min=0, help="Count: allow this many regressed scenarios.", metavar="N", show_default=False)
]
Strict = Annotated[bool, typer.Option("--strict", help="Count: any regressed scenario is worse.")]
Alpha = Annotated[
    float, typer.Option(min=0.0001, max=0.5, help="How often an unchanged agent may be called worse.", metavar="X")
]
DropSize = Annotated[
    float, typer.Option("--drop", min=0.01, max=1, help="Tell the power for this drop of the pass rate.", metavar="X")
]
DropIn = Annotated[
    int | None, typer.Option(min=1, help="The drop is in so many scenarios; without it in all.", metavar="N")
]
Errors = Annotated[int, typer.Option(min=0, help="Allow this many errors of the candidate.", metavar="N")]
Score = Annotated[float | None, typer.Option(min=0, max=100, help="The lowest allowed mean, 0 to 100.", metavar="X")]
Latency = Annotated[
    float | None, typer.Option(min=0, max=1e9, help="The highest allowed median latency, in seconds.", metavar="S")
]
LatencyP95 = Annotated[
    float | None, typer.Option(min=0, max=1e9, help="The highest allowed 95th percentile of the latency.", metavar="S")
]
Cost = Annotated[
    float | None,
    typer.Option(min=0, max=1e6, help="The highest allowed cost of an attempt with all its tries.", metavar="USD"),
]


@verb(server=True, reads=True)
@exit_2_on_error()
def gate(
    target: LedgerTarget,
    baseline: Baseline,
    *,
    run: Run = "latest",
    suite: Annotated[str | None, typer.Option(help="The suite of the latest run.", metavar="NAME")] = None,
    alpha: Alpha = 0.05,
    strict: Strict = False,
    max_regressions: Regressions = None,
    min_score: Score = None,
    max_errors: Errors = 0,
    drop: DropSize = 0.2,
    drop_in: DropIn = None,
    max_latency: Latency = None,
    max_latency_p95: LatencyP95 = None,
    max_cost_per_attempt: Cost = None,
    junit: Junit = None,
    html: Html = None,
    markdown: Markdown = None,
    as_of: AsOf = None,
) -> None:
    """Check that an evaluation is not worse than its baseline.

    A test over scenarios decides: an unchanged agent is called worse in at most --alpha of gates. With --strict or
    --max-regressions, regressed scenarios are counted instead: those where fewer of the attempts that both runs have
    pass. Exit code 1: worse, a scenario is missing, or a limit is exceeded. Otherwise 2 if it cannot be judged: errors,
    no score, nothing comparable, too few attempts for any evidence, or unknown latency or cost. Otherwise 0.

    Example: tallystick eval gate --baseline latest --suite examples --markdown comment.md

    Example: tallystick eval gate --baseline 3f2a9c1e --run 77aa01be --alpha 0.01 --drop 0.4 --drop-in 3

    Example: tallystick eval gate --baseline latest --strict --max-latency 20 --max-cost-per-attempt 0.05
    """
    from api.cli.open_ledger import answer_as_of
    from api.cli.output import print_json, print_note
    from api.cli.render.evaluations import print_comparison
    from api.reports import GateLimits, ReportFiles
    from api.service.evaluation.gate import GateQuery, build_gate_answer, judge_run

    files = ReportFiles.checked(target.place.path, junit=junit, html=html, markdown=markdown)
    limits = GateLimits(
        regressions=max_regressions or 0,
        errors=max_errors,
        score=min_score,
        strict=strict or max_regressions is not None,
        alpha=alpha,
        drop=drop,
        drop_scenarios=drop_in,
        latency_s=max_latency,
        latency_p95_s=max_latency_p95,
        cost_per_attempt_usd=max_cost_per_attempt,
    )
    query = GateQuery(baseline=baseline, candidate=run, suite=suite, limits=limits)
    report = answer_as_of(
        target,
        as_of,
        lambda view: judge_run(view, query),
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
