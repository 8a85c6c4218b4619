"""Tests that a server does not look at have no outcome: in logs drawn at random, as of every event of them."""

from collections.abc import Sequence
from random import Random

import pytest
from msgspec import structs

from projections.changes.change_index import ChangeIndex
from projections.resolve.covered import may_be_final
from projections.resolve.rules import is_final
from projections.resolve.stated_tests import find_verdict
from projections.resolve.states import StatedTest
from tests.projections.resolve.observed import BEGIN_S, DAY_S, Observed, stated_test
from tests.projections.resolve.test_recomputed import COMMITS, observe, some_tests

SKIPPED = ("git.kept", "git.lines_alive", "forge.merged", "junit.passed", "alert.silent", "http.status", "no_event")


def drawn_tests(random: Random) -> Sequence[StatedTest]:
    tests = [stated_test(text, random.randrange(10)) for text in some_tests(random)]
    starts = (None, None, BEGIN_S + random.randrange(20) * DAY_S)
    return [
        structs.replace(one, start_s=random.choice(starts), decision_id=random.choice(("d1", "d2"))) for one in tests
    ]


@pytest.mark.parametrize("seed", range(40))
def test_no_test_with_an_outcome_is_skipped(seed: int) -> None:
    random, observed = Random(seed), Observed()
    tests, final, skipped = drawn_tests(random), 0, set[str]()
    for _ in range(60):
        observe(random, observed)
        evidence = observed.evidence(random.randrange(60))
        for test in tests:
            if may_be_final(test, evidence):
                final += is_final(find_verdict(test, evidence))
            else:
                assert not is_final(find_verdict(test, evidence)), test
                skipped.add(test.rule)
    assert final or skipped
    assert skipped <= {*SKIPPED}


@pytest.mark.parametrize("rule", SKIPPED)
def test_a_test_is_skipped_until_its_window_may_be_covered(rule: str) -> None:
    subject = {
        "forge": ":subject=pr:1",
        "junit": ":subject=junit:unit",
        "http": ":subject=http:home",
        "alert": ":subject=alert:disk",
    }
    text = f"{rule}:14d{subject.get(rule.partition('.')[0], '')}" + (
        ":subject=a:b;type=t" if rule == "no_event" else ""
    )
    observed = Observed().change(COMMITS[0], 1, decisions=("d1",)).request(1, "opened", 1)
    found = []
    for day in (13, 15):
        observed.scan("git", day).scan("forge", day).scan("other", day, "a:b")
        found.append(may_be_final(stated_test(text), observed.evidence(day - 0.5)))
    assert found == [False, True]


@pytest.mark.parametrize("seed", range(10))
def test_the_changes_that_name_a_decision_are_those_of_the_state(seed: int) -> None:
    random, observed = Random(seed), Observed()
    for _ in range(60):
        observe(random, observed)
        for index in (observed.changes, ChangeIndex.decode(observed.changes.encode())):
            named = sorted((one.repository.repository, one.commit) for one in index.naming("d1"))
            assert named == sorted(
                (state.repository, commit)
                for state in index.repositories()
                for commit, change in state.changes.items()
                if "d1" in change.decisions
            )


def test_changes_decide_only_with_a_scan() -> None:
    observed = Observed().change(COMMITS[0], 1).request(1, "opened", 1)
    assert observed.tests.newest == 0
    assert observed.scan("git", 2).tests.newest == observed.position
    observed.change(COMMITS[1], 1)
    assert observed.add("command.ran", "command:smoke", 1, exit=0).tests.newest == observed.position
