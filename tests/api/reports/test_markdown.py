"""Markdown for a pull request: golden files, nothing that an answer says counts as markup, and it fits."""

import re

import pytest
from hypothesis import example, given
from markdown_it import MarkdownIt  # which rich brings

from api.reports import EvaluationReport, markdown
from api.reports.escape import code_block, code_cell, code_span
from api.reports.markdown_size import COMMENT_MAX, MARKER
from projections.evaluation.run_comparison import compare_runs
from tests.api.reports.fixed_evaluations import (
    AFTER,
    BEFORE,
    FOUND,
    NOT_FOUND,
    REPORTS,
    crashed,
    evaluation,
    result,
    scored,
)
from tests.api.reports.hostile import TEXTS, saying, texts
from tests.golden import path_of_report

PARSER = MarkdownIt("commonmark").enable("table")
OUR_HTML = re.compile(r"<!-- tallystick eval -->|</?details>|<summary>(<code>[^<>]*</code>)?[^<>]*</summary>")


def shape(text: str) -> list[str]:
    """Return the kinds of the Markdown tokens of a text, without the contents of code spans and code blocks."""
    kinds = []
    for token in PARSER.parse(text):
        kinds.append(token.type)
        if token.type == "html_block":
            for line in token.content.strip().split("\n"):
                assert OUR_HTML.fullmatch(line), line
        kinds += [child.type for child in token.children or ()]
    return kinds


HARMLESS = {name: shape(markdown(saying(report, "x"))) for name, report in REPORTS.items()}


@pytest.mark.parametrize("name", REPORTS)
def test_golden(name: str) -> None:
    said = markdown(REPORTS[name])
    assert said == path_of_report(f"{name}.md").read_text(encoding="utf-8")
    assert said.startswith(MARKER)


@given(texts)
@example(TEXTS[8])
@example(TEXTS[9])
@example(TEXTS[11])
def test_whatever_is_said_is_code(text: str) -> None:
    for name, report in REPORTS.items():
        said = markdown(saying(report, text))
        assert len(said) <= COMMENT_MAX
        assert shape(said) == HARMLESS[name]


@pytest.mark.parametrize("text", TEXTS)
def test_no_mention_link_or_reference_stands_outside_of_code(text: str) -> None:
    for report in REPORTS.values():
        for token in PARSER.parse(markdown(saying(report, text))):
            for child in token.children or ():
                if child.type == "text":
                    assert not re.search(r"@\w|https?:|www\.|#\d|<", child.content)


@given(texts)
def test_a_span_of_code_holds_its_text(text: str) -> None:
    (token,) = [one for one in PARSER.parse(f"a {code_span(text)} b") if one.type == "inline"]
    assert [child.type for child in token.children or ()] == ["text", "code_inline", "text"]
    row = PARSER.parse(f"|a|b|\n|-|-|\n|{code_cell(text)}|c|")
    assert [one.type for one in row].count("td_open") == 2
    (block,) = PARSER.parse(code_block(text))
    assert block.type == "fence"


def test_what_does_not_fit_is_left_out_and_reported() -> None:
    def many(total: float, *found: object) -> list[object]:
        return [
            result(f"scenario-{number:04}", scored(total, *found), crashed(2), name="A name of some length " * 2)  # type: ignore[arg-type]
            for number in range(1500)
        ]

    before, after = (
        evaluation(run, "1", *many(total, *[found] * 12))  # type: ignore[arg-type]
        for run, total, found in (("a", 90.0, FOUND), ("b", 10.0, NOT_FOUND))
    )
    said = markdown(EvaluationReport(evaluation=after, contrast=compare_runs(before, after)))
    assert COMMENT_MAX * 0.9 < len(said) <= COMMENT_MAX
    reported = said.rstrip().rpartition("\n")[2]
    assert reported.startswith("Left out to fit into a comment: ")
    assert re.search(r"[\d,]+ regressed scenarios", reported)
    assert said.index("Regressed") < said.index("scenario-0000")
    shape(said)


def test_regressions_come_first_and_what_used_to_match_is_reported() -> None:
    said = markdown(REPORTS["gated"])
    assert said.index("Regressed") < said.index("Errors") < said.index("Not comparable") < said.index("All scenarios")
    assert "`image.*not found` (regex, `root_cause.patterns[0]`) matched in `decision.why[1]`" in said


def test_a_run_without_scores_and_two_that_share_nothing() -> None:
    empty = evaluation("r", "1")
    assert "0 of 0 scenarios" in markdown(EvaluationReport(evaluation=empty))
    assert "No scenario is comparable." in markdown(
        EvaluationReport(evaluation=AFTER, contrast=compare_runs(empty, AFTER))
    )
    assert "|missing|" in markdown(EvaluationReport(evaluation=empty, contrast=compare_runs(BEFORE, empty)))
