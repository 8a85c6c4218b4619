"""A scenario on the page: its attempts, each part of a score, and what every pattern matched."""

from collections.abc import Callable, Iterator

from api.reports.escape import cut, line, markup
from api.reports.excerpt import Excerpt, answer_of, excerpts
from api.reports.format import DASH, against, points, seconds
from api.reports.html.svg import bar
from api.reports.report import COMPONENTS, costs, unwanted
from events.evaluation import Component, PatternFinding
from projections.evaluation.view_types import ScenarioChange, ScenarioResult, ScoreRow

SAID_MAX = 1_000
"""Characters of one text of an answer that did not pass."""

Show = Callable[[PatternFinding], Excerpt | None]


def text(said: str) -> str:
    """A text that is not ours, on one line, whose direction ends with it."""
    return f"<bdi>{markup(line(said))}</bdi>"


def coded(said: str) -> str:
    """A pattern or an id as it is written."""
    return f"<code>{markup(said)}</code>"


def scenario(result: ScenarioResult, change: ScenarioChange | None, *, opened: bool) -> str:
    """One scenario, which opens when it is clicked."""
    kinds = f"scenario v-is-{result.verdict}{' moved' if change is not None and change.difference else ''}"
    about = " · ".join(text(said) for said in (result.name, result.family, result.failure_type) if said)
    summary = (
        f'<span class="chip v-{result.verdict}">{result.verdict}</span>'
        f"<span><b>{text(result.scenario_id)}</b>{f'<small>{about}</small>' if about else ''}</span>"
        f'<span class="bar">{bar(result.mean, result.verdict)}</span>'
        f'<span class="n">{points(result.mean)}</span>'
        f'<span class="n passes">{result.passed} of {result.attempts}</span>'
        f'<span class="n change">{_moved(change)}</span>'
    )
    inner = "".join(_inner(result, change))
    return f'<details class="{kinds}"{" open" if opened else ""}><summary>{summary}</summary>{inner}</details>'


def _moved(change: ScenarioChange | None) -> str:
    if change is None or not change.difference:
        return ""
    return f'<span class="{"down" if change.difference < 0 else "up"}">{points(change.difference, "+")}</span>'


def _inner(result: ScenarioResult, change: ScenarioChange | None) -> Iterator[str]:
    yield '<div class="inner">'
    if change is not None and (told := costs(change)):
        yield "<h3>What used to match and no longer does</h3>"
        yield findings(told, lost=True)
    for row in result.rows:
        yield _attempt(row, several=len(result.rows) > 1)
    yield "</div>"


def findings(told: list[PatternFinding], *, lost: bool = False, show: Show | None = None) -> str:
    """Patterns, a line each; of those that are lost, what they matched before."""
    if not told:
        return ""
    return f'<ul class="findings">{"".join(_finding(one, show, lost=lost) for one in told)}</ul>'


def _attempt(row: ScoreRow, *, several: bool) -> str:
    named = [f"Attempt {row.attempt}"] if several else []
    if row.state != "scored":
        named.append(f"{row.state}{f': {row.failure}' if row.failure else ''}")
    else:
        needed = "" if row.pass_threshold is None else f", {points(row.pass_threshold)} needed"
        total = against(row.total_score, row.pass_threshold)
        named.append(f"{total} points{needed}: {'passed' if row.passed else 'not passed'}")
    if row.elapsed_ns is not None:
        named.append(seconds(row.elapsed_ns))
    parts = [f"<h3>{', '.join(named)}</h3>"]
    if row.detail:
        parts.append(f"<p>{text(row.detail)}</p>")
    if row.said:
        parts.append(f'<p class="soft">Its last lines</p><pre>{markup(row.said)}</pre>')
    if row.components:
        parts.append(_components(row.components))
    elif row.breakdown_digest is not None:
        gone = "was erased" if row.erased else "is evidence"
        parts.append(f'<p class="soft">Its breakdown {gone}: {coded(row.breakdown_digest)}</p>')
    show = excerpts(row)
    for component in row.components:
        if component.findings:
            name = COMPONENTS[component.name]
            parts.append(f"<h3>{name[0].upper()}{name[1:]}</h3>{findings(list(component.findings), show=show)}")
    if row.passed is False:
        parts.append(_answer(row))
    return "".join(parts)


def _answer(row: ScoreRow) -> str:
    """What was said where it did not pass: the texts that are scored, each up to a length."""
    said = "".join(
        f"<dt>{where}</dt><dd><bdi>{markup(cut(told, SAID_MAX))}</bdi></dd>" for where, told in answer_of(row)
    )
    return (
        f'<details class="plain"><summary>What it said</summary><dl class="said">{said}</dl></details>' if said else ""
    )


def _components(components: tuple[Component, ...]) -> str:
    rows = "".join(_component(one) for one in components)
    head = '<th>part</th><th></th><th class="n">points</th><th class="n">mark</th><th class="n">weight</th><th></th>'
    return f'<div class="wide"><table><tr>{head}</tr>{rows}</table></div>'


def _component(one: Component) -> str:
    name = COMPONENTS[one.name]
    if not one.applicable:
        return f'<tr class="soft"><td>{name}</td><td colspan="5">nothing is expected of it</td></tr>'
    colour = "skipped" if one.passed is None else "stable" if one.passed else "failing"
    verdict = {None: "", True: "passed", False: "not passed"}[one.passed]
    weight = DASH if one.weight is None else f"{one.weight:.2f}"
    figures = "".join(f'<td class="n">{cell}</td>' for cell in (points(one.score), points(one.mark), weight))
    drawn = bar(one.score, colour, one.mark)
    return f'<tr><td>{name}</td><td>{drawn}</td>{figures}<td class="v-{colour}">{verdict}</td></tr>'


def _finding(finding: PatternFinding, show: Show | None, *, lost: bool) -> str:
    kind, said = _standing(finding, lost=lost)
    where = f" in {coded(finding.where)}" if finding.where and finding.matched else ""
    told = f"{coded(finding.pattern)} {said}{where}"
    about = [finding.match_type, line(finding.expectation)]
    if finding.similarity is not None:
        about.append(f"similarity {finding.similarity:.2f}")
    if finding.note:
        about.append(line(finding.note))
    quoted = ""
    if finding.matched and finding.text:
        quoted = _quoted(show(finding) if show is not None else Excerpt("", finding.text, ""))
    return f'<li class="{kind}">{told} <span class="soft">({markup(", ".join(about))})</span>{quoted}</li>'


def _standing(finding: PatternFinding, *, lost: bool) -> tuple[str, str]:
    """How a pattern is marked, and what is said of it."""
    if unwanted(finding):
        return ("bad", "must not be said, and is") if finding.matched else ("good", "is not said, as it should be")
    if lost:
        return "bad", "matched before"
    return ("good", "matched") if finding.matched else ("idle", "not found")


def _quoted(found: Excerpt | None) -> str:
    if found is None:
        return ""
    before, match, after = (markup(part) for part in found)
    return f'<blockquote dir="auto">{before}<mark>{match}</mark>{after}</blockquote>'
