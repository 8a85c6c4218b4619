"""eval gate: fail if an evaluation is worse than its baseline."""

from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import structs

from api.cli.commands.eval_show import Html, Junit, Markdown
from api.cli.errors import exit_2_on_error
from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import AsOf
from api.service.evaluation.evaluation_params import GateParams

if TYPE_CHECKING:
    from api.reports import EvaluationReport

Strict = Annotated[bool, typer.Option("--strict", help="Count: any regressed scenario is worse.")]


@verb(server=True, reads=True)
@exit_2_on_error()
def gate(
    target: LedgerTarget,
    params: GateParams,
    *,
    strict: Strict = False,
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
    from api.cli.open_ledger import use_answers
    from api.cli.output import print_json, print_note
    from api.cli.render.evaluations import print_comparison
    from api.reports import ReportFiles
    from api.service.evaluation.gate import GateAnswer
    from api.service.evaluation.report_data import build_gate_report

    files = ReportFiles.checked(target.place.path, junit=junit, html=html, markdown=markdown)
    if strict and params.max_regressions is None:
        params = structs.replace(params, max_regressions=0)
    report = use_answers(target, as_of, lambda answers: build_gate_report(answers, params))
    files.write(report)
    if params.baseline == "latest":
        print_note(_baseline_note(report))
    if target.json:
        assert isinstance(report.contrast, GateAnswer)
        print_json(report.contrast)
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
