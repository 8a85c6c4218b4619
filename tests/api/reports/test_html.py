"""The page: its content, that it loads nothing from other servers, and that it shows every value as plain text."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from hypothesis import example, given

from api.reports import EvaluationReport, html_page
from projections.evaluation.run_comparison import compare_runs
from projections.evaluation.view_types import ScenarioResult
from tests.api.reports.fixed_evaluations import (
    AFTER,
    ALONE,
    DENIED,
    FOUND,
    GATED,
    REPORTS,
    WHY,
    crashed,
    evaluation,
    result,
    scored,
)
from tests.api.reports.hostile import TEXTS, saying, texts

VOID = {"meta", "input", "br"}
TAGS = """
html head meta title style body header main footer h1 h2 h3 p div span b strong small bdi code pre blockquote mark ul li
dl dt dd table tr th td details summary label input svg rect line circle text g
"""
ATTRIBUTES = """
lang charset http-equiv content name class role open dir type id checked colspan aria-label aria-hidden viewbox width
height rx x y x1 x2 y1 y2 cx cy r points text-anchor scope
"""


class Read(HTMLParser):
    """A page as a browser takes it apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.shape: list[str] = []
        self.said: list[str] = []
        self.within: list[str] = []
        self.marked: list[str] = []
        self.policy = self.style = ""
        self.feed(text)
        self.close()
        assert self.within == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS.split()
        assert {name for name, _ in attrs} <= set(ATTRIBUTES.split())
        self.shape.append(f"{tag} {[name for name, _ in attrs]}")
        if tag not in VOID:
            self.within.append(tag)
        reported = dict(attrs)
        if reported.get("http-equiv") == "Content-Security-Policy":
            self.policy = reported["content"] or ""

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.within.pop() == tag
        self.shape.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if self.within and self.within[-1] == "style":
            self.style += data
        elif self.within and self.within[-1] == "mark":
            self.marked.append(data)
        else:
            self.said.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.said).split())


HARMLESS = {name: Read(html_page(saying(report, "x"))).shape for name, report in REPORTS.items()}


@pytest.mark.parametrize("name", REPORTS)
def test_it_asks_nobody_for_anything(name: str) -> None:
    said = html_page(REPORTS[name])
    read = Read(said)
    digest = b64encode(sha256(read.style.encode()).digest()).decode()
    assert read.policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert not re.search(r"url\(|@import|@font-face|https?:", said)


@pytest.mark.slow
@given(texts)
@example(TEXTS[0])
@example(TEXTS[1])
@example(TEXTS[3])
def test_whatever_is_said_is_text(text: str) -> None:
    for name, report in REPORTS.items():
        said = html_page(saying(report, text))
        said.encode()
        assert Read(said).shape == HARMLESS[name]


@pytest.mark.parametrize("text", TEXTS)
def test_nothing_turns_the_direction_or_hides(text: str) -> None:
    said = html_page(saying(GATED, text))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]", said)


def test_what_matched_is_marked_within_its_text() -> None:
    said = html_page(ALONE)
    assert "could not pull the image: <mark>image was not found</mark> in the registry" in said
    assert Read(said).marked.count("image was not found") == 2


def test_a_match_whose_answer_is_not_at_hand_is_shown_alone() -> None:
    for analysis in (
        None,
        "{",
        "[]",
        '{"decision": {"why": ["a", 7]}}',
        '{"decision": {"why": ["another text", "one"]}}',
    ):
        run = evaluation("r", "1", result("s", scored(90.0, FOUND, DENIED, analysis=analysis)))
        assert '<blockquote dir="auto"><mark>image was not found</mark></blockquote>' in html_page(
            EvaluationReport(evaluation=run)
        )


def test_what_got_worse_comes_first() -> None:
    text = Read(html_page(GATED)).text
    assert "Worse: 3 regressions, where none is allowed." in text
    places = [
        text.index(reported)
        for reported in ("Regressed: 3", "matched before", "Errors: 1", "Not comparable: 1", "Scenarios: 7")
    ]
    assert places == sorted(places)
    assert "Job image not found" in text
    assert "Evaluationexamplestriage 1.4.0" in text
    assert 'KeyError: "alert"' in text


def test_what_was_said_is_reported_where_it_did_not_pass() -> None:
    said = html_page(ALONE)
    assert said.count("What it said") == 1
    assert f"<dt>decision.why</dt><dd><bdi>the job never started\n{WHY}</bdi></dd>" in said
    assert "<dt>hypotheses[0]</dt><dd><bdi>it was cut</bdi></dd>" in said


def test_the_history_of_versions_is_drawn_where_there_is_one() -> None:
    assert 'aria-label="Mean points of 3 versions, from 64.0 to 79.0"' in html_page(ALONE)
    assert html_page(ALONE).count('class="series"') == 2
    assert "Mean points of" not in html_page(EvaluationReport(evaluation=AFTER, trend=ALONE.trend[:1]))


def test_a_run_without_scores_and_one_of_many() -> None:
    Read(html_page(EvaluationReport(evaluation=evaluation("r", "1"))))
    Read(html_page(EvaluationReport(evaluation=AFTER, contrast=compare_runs(evaluation("r", "1"), AFTER))))
    many = evaluation("r", "1", *(result(f"s{number}", scored(number % 101, FOUND)) for number in range(500)))
    said = html_page(EvaluationReport(evaluation=many))
    assert said.count('<details class="scenario') == 500
    assert said.count(" open><summary>") == 5
    assert len(said) < 2_000_000


@pytest.mark.trial("A15")
def test_a_report_without_a_gate_has_a_verdict_too() -> None:
    def banner(*results: ScenarioResult) -> str:
        said = html_page(EvaluationReport(evaluation=evaluation("r", "1", *results)))
        found = re.search('<p class="(judgement [a-z]+)" role="status">(.*)</p>', said)
        assert found is not None
        return f"{found[1]}: {found[2]}"

    good, bad = result("a", scored(90.0)), result("b", scored(10.0))
    broken, flaky = result("c", crashed()), result("d", scored(90.0), crashed(attempt=2))
    assert banner(good) == "judgement passed: Passed: every attempt at 1 scenario."
    assert banner(good, bad, broken, flaky) == (
        "judgement worse: Not all passed: 1 of 4 scenarios passed every attempt; 1 flaky, 1 failing, 1 in error."
    )
    assert banner(good, flaky) == (
        "judgement unusable: Not all passed: 1 of 2 scenarios passed every attempt; 1 flaky."
    )
    assert banner(broken) == "judgement unusable: Nothing was scored."
    assert banner() == "judgement unusable: Nothing was scored."


@pytest.mark.trial("A15")
def test_labels_of_the_chart_keep_their_size_on_every_screen() -> None:
    """Without a view box a drawing is not scaled, so that the style's size is the size on the screen."""
    page = html_page(ALONE)
    assert "viewBox" not in page
    assert re.findall(r"svg text \{[^}]*font-size: (\d+)px", Read(page).style) == ["12"]
    assert re.findall(r"font-size: [\d.]+px", Read(page).style) == ["font-size: 12px"]


@pytest.mark.trial("A15")
def test_forbidden_text_is_marked_as_bad() -> None:
    item = re.compile('<li class="bad"><code>node.*?forbidden, but found.*?<mark>the job</mark>', re.DOTALL)
    assert item.search(html_page(ALONE))


def test_equal_errors_are_shown_once() -> None:
    run = evaluation("r", "1", result("a", crashed(), crashed(attempt=2)), result("b", crashed()))
    said = html_page(EvaluationReport(evaluation=run))
    assert said.partition("<h2>Scenarios")[0].count("KeyError") == 1
    assert "a, attempt 1; a, attempt 2; b, attempt 1" in Read(said).text
    assert "Errors: 3" in Read(said).text
