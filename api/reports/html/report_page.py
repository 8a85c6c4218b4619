"""An evaluation as one page of HTML that asks nobody for anything: no script, font, style or image from elsewhere.

Its policy forbids all of that, and every style but its own. Whatever is not ours is escaped where it is written.
"""

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import Literal

from api.reports.escape import line, markup
from api.reports.format import between, bracketed, counted, moment, points, rate, rates, seconds
from api.reports.gate import sentence
from api.reports.html.scenario import coded, findings, scenario, text
from api.reports.html.style import STYLE
from api.reports.html.svg import course as drawn
from api.reports.html.svg import interval, stacked
from api.reports.report import EvaluationReport, changes, costs, course, ordered, scorer, who
from projections.evaluation.view_types import EvaluationSummary, RunComparison, ScenarioChange, TrendPoint

OPENED_MAX = 5
"""Scenarios that did not pass and are open from the start."""

FOOT = "Made by Tallystick. Points are of 100; intervals are at 95%, over scenarios; an error counts 0 points."

COLOURS: dict[str, Literal["stable", "flaky", "failing", "broken"]] = {
    "stable": "stable", "flaky": "flaky", "failing": "failing", "error": "broken",
}  # fmt: skip


def page(report: EvaluationReport) -> str:
    """The page."""
    run = report.evaluation
    title = f"{markup(line(run.suite))}: {markup(run.run_id)}"
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{title}</title><style>{STYLE}</style></head><body>",
        *_header(report),
        "<main>",
        *_sections(report),
        f"</main><footer>{FOOT}</footer></body></html>\n",
    ]
    return "\n".join(parts)


def _policy() -> str:
    """What the page may load: nothing but its own style."""
    digest = b64encode(sha256(STYLE.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _header(report: EvaluationReport) -> Iterator[str]:
    run, contrast = report.evaluation, report.contrast
    yield f'<header><p class="soft">Evaluation</p><h1>{text(run.suite)}</h1><p>{_named(run)}</p>'
    if report.judgement is not None and contrast is not None:
        said = markup(sentence(report.judgement, contrast))
        yield f'<p class="judgement {report.judgement.verdict}" role="status">{said}</p>'
    if not run.ended:
        yield '<p class="judgement unusable">This evaluation has not ended: what is here may not be all.</p>'
    yield f'<div class="cards">{"".join(_cards(run, contrast))}</div><dl>{"".join(_facts(run))}</dl></header>'


def _named(head: EvaluationSummary) -> str:
    version = f" <strong>{text(head.agent_version)}</strong>" if head.agent_version is not None else ""
    return f"{text(who(head))}{version}"


def _cards(run: EvaluationSummary, contrast: RunComparison | None) -> Iterator[str]:
    yield _card("Mean points", points(run.mean), between(run.mean_interval), interval(run.mean, run.mean_interval, 100))
    drawing = interval(run.pass_rate, run.pass_interval, 1)
    yield _card("Pass rate", rate(run.pass_rate), rates(run.pass_interval), drawing)
    counts = [(name, getattr(run, field)) for name, field in COLOURS.items()]
    told = ", ".join(f"{number} {name}" for name, number in counts if number)
    yield _card("Scenarios", f"{run.scenarios:,}", told, stacked(counts))
    if contrast is not None and contrast.difference is not None:
        told = f"{between(contrast.difference_interval, '+')} over {counted(contrast.scenarios, 'scenario')}".strip()
        yield _card("Against the baseline", points(contrast.difference, "+"), told, "")


def _card(title: str, figure: str, below: str, drawing: str) -> str:
    told = f'<span class="soft">{title}</span><b>{figure}</b><span class="soft">{below}</span>'
    return f'<div class="card">{told}{drawing}</div>'


def _facts(run: EvaluationSummary) -> Iterator[str]:
    told = {
        "run": coded(run.run_id),
        "begun": moment(run.started_at),
        "took": None if run.elapsed_ns is None else seconds(run.elapsed_ns),
        "attempts": f"{run.passed:,} passed, {run.failed:,} failed, {run.errors:,} in error, {run.skipped:,} skipped",
        "without errors": f"mean {points(run.mean_scored)}" if run.errors else None,
        "scorer": None if (named := scorer(run)) is None else text(named),
        "suite": None if run.suite_digest is None else coded(run.suite_digest[:12]),
        "chosen": None if run.selection is None else coded(run.selection),
        "ended": None if run.reason is None else text(run.reason),
    }
    for name, shown in told.items():
        if shown is not None:
            yield f"<div><dt>{name}</dt><dd>{shown}</dd></div>"
    for key, value in (run.meta or {}).items():
        yield f"<div><dt>{text(key)}</dt><dd>{text(value)}</dd></div>"


def _sections(report: EvaluationReport) -> Iterator[str]:
    if report.contrast is not None:
        yield from _compared(report.contrast)
    yield from _errors(report)
    if report.contrast is not None:
        yield from _apart(report.contrast)
    if trend := course(report):
        yield "<h2>By version</h2>"
        yield f'<div class="wide">{drawn(trend, report.evaluation.agent_version)}</div>{_trend(trend)}'
    yield from _scenarios(report)


def _compared(contrast: RunComparison) -> Iterator[str]:
    """What got worse than in the baseline, with what used to match."""
    base, test = contrast.baseline, contrast.mcnemar
    p = "" if test.p is None else f" (exact McNemar, p = {test.p:.3f})"
    yield f"<h2>Regressed: {contrast.regressions}</h2>"
    yield (
        f"<p>Against run {coded(base.run_id)} of {_named(base)}, {moment(base.started_at)}: mean "
        f"{points(contrast.mean_baseline)} before, {points(contrast.mean_candidate)} now, over "
        f"{counted(contrast.scenarios, 'comparable scenario')}. Of {counted(contrast.pairs, 'pair')} of attempts "
        f"{test.passed_to_failed} passed before alone and {test.failed_to_passed} now alone{p}.</p>"
    )
    for change in contrast.regressed:
        passes = f"{change.passed_before} of {change.attempts} passed, now {change.passed_after}"
        figures = f"{points(change.before)} before, {points(change.after)} now"
        yield f"<h3>{text(change.scenario_id)}: {figures}; {passes}</h3>"
        if change.reason:
            yield f"<p>{text(change.reason)}</p>"
        yield findings(costs(change), lost=True)
    for change in contrast.missing:
        yield f"<h3>{text(change.scenario_id)}: {points(change.before)} before, now missing</h3>"
        yield findings(costs(change), lost=True)


def _errors(report: EvaluationReport) -> Iterator[str]:
    wrong = [(result, row) for result in report.evaluation.results for row in result.rows if row.state == "error"]
    if wrong:
        yield f"<h2>Errors: {len(wrong)}</h2>"
    for result, row in wrong:
        failure = row.failure or "error"
        why = f": {text(row.detail)}" if row.detail else ""
        yield f"<p><b>{text(result.scenario_id)}</b>, attempt {row.attempt}: {failure}{why}</p>"
        if row.said:
            yield f"<pre>{markup(row.said)}</pre>"


def _apart(contrast: RunComparison) -> Iterator[str]:
    """What is not comparable, and what moved and did not regress."""
    if contrast.not_comparable:
        rows = "".join(
            f"<tr><td>{text(one.scenario_id)}</td><td>{text(one.reason or '')}</td></tr>"
            for one in contrast.not_comparable
        )
        yield f"<h2>Not comparable: {len(contrast.not_comparable)}</h2><table>{rows}</table>"
    groups = {
        "Fewer points, as many passes": contrast.lower,
        "Improved": contrast.improved,
        "New": contrast.added,
    }
    for title, found in groups.items():
        if found:
            rows = "".join(map(_change, found))
            summary = f"<summary>{title}: {len(found)}</summary>"
            head = '<th>scenario</th><th class="n">before</th><th class="n">now</th><th class="n">change</th>'
            table = f'<div class="inner"><table><tr>{head}</tr>{rows}</table></div>'
            yield f'<details class="plain">{summary}{table}</details>'


def _change(one: ScenarioChange) -> str:
    cells = (points(one.before), points(one.after), points(one.difference, "+"))
    figures = "".join(f'<td class="n">{cell}</td>' for cell in cells)
    return f"<tr><td>{text(one.scenario_id)}</td>{figures}</tr>"


def _trend(trend: tuple[TrendPoint, ...]) -> str:
    rows = "".join(
        f"<tr><td>{text(one.agent_version or 'not said')}</td>"
        f'<td class="n">{points(one.mean)}{bracketed(between(one.mean_interval))}</td>'
        f'<td class="n">{rate(one.pass_rate)}{bracketed(rates(one.pass_interval))}</td>'
        f'<td class="n">{one.runs:,}</td><td class="n">{one.scenarios:,}</td></tr>'
        for one in trend
    )
    heads = ("mean", "pass rate", "runs", "scenarios")
    head = "".join(f'<th class="n">{one}</th>' for one in heads)
    table = f'<div class="inner wide"><table><tr><th>version</th>{head}</tr>{rows}</table></div>'
    return f'<details class="plain"><summary>The figures of these versions</summary>{table}</details>'


def _scenarios(report: EvaluationReport) -> Iterator[str]:
    moved = changes(report.contrast)
    yield f"<h2>Scenarios: {report.evaluation.scenarios:,}</h2>"
    chosen = {"all": "all", "only-bad": "not passing"} | (
        {"only-moved": "changed"} if report.contrast is not None else {}
    )
    radios = "".join(
        f'<label><input type="radio" name="shown" id="{key}"{" checked" if key == "all" else ""}> {said}</label>'
        for key, said in chosen.items()
    )
    yield f'<div class="filters">{radios}</div>'
    left = OPENED_MAX
    for result in ordered(report):
        opened = result.verdict not in {"stable", "skipped"} and left > 0
        left -= opened
        yield scenario(result, moved.get(result.scenario_id), opened=opened)
