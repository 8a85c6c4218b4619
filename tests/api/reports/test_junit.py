"""JUnit XML: golden files, the rules that Surefire's and Jenkins' schemas share, and any text whatever."""

import re
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import example, given

from api.reports import EvaluationReport, junit
from tests.api.reports.fixed_evaluations import (
    AFTER,
    ALONE,
    REPORTS,
    evaluation,
    result,
)
from tests.api.reports.hostile import TEXTS, saying, texts
from tests.golden import path_of_report

SUITE = {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}
CASE = {"name", "classname", "time"}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "properties": {"property"},
    "property": set(),
    "testcase": {"failure", "error", "skipped"},
    "failure": set(),
    "error": set(),
    "skipped": set(),
}


def shape(element: Element) -> list[Any]:
    return [element.tag, sorted(element.attrib), [shape(child) for child in element]]


def check(root: Element) -> None:
    """The rules of the schemas."""
    assert root.tag == "testsuites"
    for element in root.iter():
        assert {child.tag for child in element} <= CHILDREN[element.tag]
    (suite,) = root
    assert set(suite.attrib) == SUITE
    assert suite[0].tag == "properties"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    cases = suite.findall("testcase")
    counted = {tag: len(suite.findall(f"testcase/{tag}")) for tag in ("failure", "error", "skipped")}
    assert [int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")] == [
        len(cases), counted["failure"], counted["error"], counted["skipped"],
    ]  # fmt: skip
    for case in cases:
        assert set(case.attrib) == CASE
        assert len(case) <= 1
        assert re.fullmatch(r"\d+\.\d{3}", case.attrib["time"])
    for element in (*suite.iterfind("testcase/failure"), *suite.iterfind("testcase/error")):
        assert element.attrib["type"]


HARMLESS = {name: shape(fromstring(junit(saying(report, "x")))) for name, report in REPORTS.items()}


@pytest.mark.parametrize("name", REPORTS)
def test_golden(name: str) -> None:
    said = junit(REPORTS[name])
    assert said == path_of_report(f"{name}.xml").read_text(encoding="utf-8")
    check(fromstring(said))


def test_each_attempt_is_a_case_of_its_own_name() -> None:
    cases = [case.attrib["name"] for case in fromstring(junit(ALONE)).iter("testcase")]
    assert len(set(cases)) == len(cases) == sum(len(one.rows) for one in AFTER.results)


def test_a_run_without_scores() -> None:
    check(fromstring(junit(EvaluationReport(evaluation=evaluation("r", "1")))))
    check(fromstring(junit(EvaluationReport(evaluation=evaluation("r", "1", result("s"))))))


@given(texts)
@example(TEXTS[4])
@example(TEXTS[13])
def test_whatever_is_said_it_is_well_formed_and_of_the_same_shape(text: str) -> None:
    for name, report in REPORTS.items():
        said = junit(saying(report, text))
        said.encode()
        root = fromstring(said)
        check(root)
        assert shape(root) == HARMLESS[name]
