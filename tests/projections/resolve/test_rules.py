"""Rules: what each finds in what was observed, and that no error of a test is a failure of the decision."""

import pytest
from msgspec import structs

from projections.changes.recorded_requests import check_digest
from projections.resolve.stated_tests import find_verdict
from projections.resolve.states import State
from tests.projections.resolve.observed import BEGIN_S, DAY_S, REPO, Observed, stated_test

SHA, OTHER = "a1" * 20, "b2" * 20
CHANGE = f"git:{REPO}:{SHA}"
KEPT = f"git.kept:14d:subject=commit:{SHA[:9]}"


def landed() -> Observed:
    return Observed().change(SHA, 1, decisions=("d1",))


@pytest.mark.parametrize(
    ("through", "now", "state"),
    [(None, 3, "running"), (3, 3, "running"), (14, 15, "running"), (15, 15, "succeeded"), (14, 16, "overdue")],
)
def test_a_change_is_kept_when_a_scan_covers_its_window(through: int | None, now: int, state: State) -> None:
    observed = landed() if through is None else landed().scan("git", through)
    found = observed.verdict(KEPT, now)
    assert (found.state, found.start_s, found.due_s) == (state, BEGIN_S + DAY_S, BEGIN_S + 15 * DAY_S)
    assert found.basis == ("deadline" if state == "succeeded" else None)


@pytest.mark.parametrize("kind", ["git.reverted", "git.fixed"])
def test_a_change_that_failed_counts_when_its_window_is_over(kind: str) -> None:
    observed = landed().add(kind, CHANGE, 4, by=OTHER).scan("git", 5)
    early = observed.verdict(KEPT, 5)
    assert (early.state, early.basis, early.evidence) == ("failed_early", "event", ("o11",))
    found = observed.scan("git", 15).verdict(KEPT, 15)
    assert (found.state, found.value) == ("failed", f"{kind[4:]}, as commit {SHA[:12]} (2026-01-05 00:00 UTC)")


def test_a_fix_may_be_ignored_and_what_comes_after_the_window_is_none() -> None:
    fixed = landed().add("git.fixed", CHANGE, 4, by=OTHER).scan("git", 30)
    assert fixed.verdict(f"{KEPT};fixes=ignore").state == "succeeded"
    assert landed().add("git.reverted", CHANGE, 20, by=OTHER).scan("git", 30).verdict(KEPT).state == "succeeded"


def test_a_revert_that_is_taken_back_itself_stays_a_failure() -> None:
    observed = landed().add("git.reverted", CHANGE, 4, by=OTHER).change("c3" * 20, 5).scan("git", 30)
    assert observed.verdict(KEPT).state == "failed"


def test_without_the_change_it_waits() -> None:
    assert Observed().scan("git", 30).verdict(KEPT).state == "waiting"
    assert Observed().change(OTHER, 1).scan("git", 30).verdict("git.kept:14d").state == "waiting"


def test_a_change_names_its_decision_or_is_named_by_a_commit_that_it_brought() -> None:
    observed = landed().scan("git", 30)
    assert observed.verdict("git.kept:14d").state == "succeeded"
    merged = Observed().change(OTHER, 1, commits=(SHA,)).scan("git", 30)
    assert merged.verdict(KEPT).state == "succeeded"
    squashed = Observed().change(OTHER, 1).request(3, "opened", 0, head=SHA).request(3, "merged", 1, commit=OTHER)
    assert squashed.scan("git", 30).verdict(KEPT).state == "succeeded"


def test_rewritten_history_and_two_changes_are_unresolvable() -> None:
    gone = landed().add("git.gone", CHANGE, 3).scan("git", 30).verdict(KEPT)
    assert (gone.state, gone.value) == ("unresolvable", "the history was rewritten, and has the change no more")
    two = landed().change(SHA[:20] + OTHER[:20], 2).scan("git", 30).verdict(KEPT)
    assert two.state == "unresolvable"


def test_outcomes_that_are_withdrawn_are_none() -> None:
    observed = landed().add("git.reverted", CHANGE, 4).add("git.outcomes_withdrawn", CHANGE, 5).scan("git", 30)
    assert observed.verdict(KEPT).state == "succeeded"


@pytest.mark.parametrize(
    ("alive", "percent", "state"), [(5, 50, "succeeded"), (4, 50, "failed"), (9, 90, "succeeded"), (8, 90, "failed")]
)
def test_lines_alive(alive: int, percent: int, state: State) -> None:
    observed = landed().add("git.lines_alive", CHANGE, 31, day_14=10, day_30=alive).scan("git", 31)
    text = f"git.lines_alive:30d:percent={percent};subject=commit:{SHA}"
    assert observed.verdict(text).state == state
    assert landed().scan("git", 40).verdict(text).state == "overdue"  # it is not known how many
    assert observed.verdict(text.replace("30d", "20d")).state == "unresolvable"


REQUEST = "forge.merged:14d:subject=pr:3"


def opened() -> Observed:
    return Observed().request(3, "opened", 1, head=SHA)


@pytest.mark.parametrize(
    ("observed", "through", "state"),
    [
        (opened(), 5, "running"),
        (opened().request(3, "merged", 4), 5, "running"),
        (opened().request(3, "merged", 4), 15, "succeeded"),
        (opened().request(3, "merged", 16), 20, "failed"),
        (opened().request(3, "closed", 4), 5, "failed_early"),
        (opened().request(3, "closed", 4), 15, "failed"),
        (opened().request(3, "closed", 4).request(3, "reopened", 5).request(3, "merged", 9), 15, "succeeded"),
        (opened(), 15, "failed"),
        (opened(), 14, "overdue"),
        (Observed(), 15, "waiting"),
    ],
)
def test_merged(observed: Observed, through: int, state: State) -> None:
    now = 100 if state == "overdue" else through
    assert observed.scan("forge", through).verdict(REQUEST, now).state == state


def test_a_number_of_several_repositories_is_unresolvable_unless_one_is_named() -> None:
    observed = opened().add("forge.opened", f"pr:{'cd' * 8}:3", 1).request(3, "merged", 4).scan("forge", 20)
    assert observed.verdict(REQUEST).state == "unresolvable"
    assert observed.verdict(f"forge.merged:14d:subject=pr:{REPO}:3").state == "succeeded"
    assert observed.verdict(f"forge.merged:14d:subject=commit:{SHA}").state == "succeeded"


def test_merged_and_kept_counts_from_the_landing() -> None:
    text = "forge.merged_and_kept:14d:subject=pr:3;kept_days=7"
    merged = opened().request(3, "merged", 4, commit=SHA).change(SHA, 4).scan("forge", 15)
    assert merged.verdict(text, 10).state == "running"
    assert merged.scan("git", 11).verdict(text, 12).state == "succeeded"
    assert merged.add("git.reverted", CHANGE, 6).verdict(text).state == "failed"
    assert opened().scan("forge", 15).verdict(text).state == "failed"
    assert opened().request(3, "merged", 4).scan("forge", 15).verdict(text).state == "waiting"


@pytest.mark.parametrize(
    ("names", "results", "state"),
    [
        ("", {"result": "green"}, "succeeded"),
        ("", {"result": "red"}, "failed"),
        ("", {"result": "flaky"}, "unresolvable"),
        ("", {"result": "none"}, "unresolvable"),
        (";names=test+lint", {"succeeded": ("test", "lint")}, "succeeded"),
        (";names=test", {"succeeded": ("test",), "failed": ("docs",), "result": "red"}, "succeeded"),
        (";names=test+lint", {"succeeded": ("test",)}, "unresolvable"),  # skipped, neutral, or not there
        (";names=test", {"failed": ("test",)}, "failed"),
        (";names=test", {"flaky": ("test",)}, "unresolvable"),
    ],
)
def test_checks(names: str, results: dict[str, str | tuple[str, ...]], state: State) -> None:
    facts = {
        name: value if isinstance(value, str) else tuple(map(check_digest, value)) for name, value in results.items()
    }
    observed = opened().request(3, "checked", 3, **facts).request(3, "merged", 4).scan("forge", 15)
    assert observed.verdict(f"checks.green:14d:subject=pr:3{names}").state == state


@pytest.mark.parametrize("names", ["", ";names=test"])
def test_a_check_of_which_an_attempt_failed_is_no_evidence(names: str) -> None:
    text, test = f"checks.green:14d:subject=pr:3{names}", check_digest("test")
    checked = opened().request(3, "checked", 3, result="green", succeeded=(test,)).request(3, "merged", 4)
    failed, commit = "forge.check_failed", f"check:{REPO}:{SHA}"
    assert checked.add(failed, commit, 5, check=test).scan("forge", 15).verdict(text).state == "succeeded"
    assert checked.add(failed, f"check:{REPO}:b:c", 2, check=test).verdict(text).state == "succeeded"
    assert checked.add(failed, commit, 2, check=("a",)).verdict(text).state == "succeeded"
    found = checked.add(failed, commit, 2, check=test).verdict(text)
    assert (found.state, found.value) == (
        "unresolvable", "a check failed, and succeeded when it was repeated on the same commit",
    )  # fmt: skip


JUNIT = "junit.passed:1d:subject=junit:unit;ids=a"


@pytest.mark.parametrize(
    ("runs", "state"),
    [
        ([], "overdue"),
        ([{"passed": ("a", "b")}], "succeeded"),
        ([{"failed": ("a",)}, {"passed": ("a",)}], "succeeded"),
        ([{"passed": ("a",)}, {"failed": ("a",), "passed": ("b",)}], "failed"),
        ([{"passed": ("b",)}], "unresolvable"),
        ([{}], "unresolvable"),
    ],
)
def test_junit(runs: list[dict[str, tuple[str, ...]]], state: State) -> None:
    observed = Observed()
    for number, facts in enumerate(runs):
        digests = {name: tuple(map(check_digest, names)) for name, names in facts.items()}
        observed.add("junit.tested", "junit:unit", 0.1 + number / 10, **digests)
    assert observed.verdict(JUNIT, 0.5).state == "running"
    assert observed.verdict(JUNIT, 2).state == state
    every = observed.verdict("junit.passed:1d:subject=junit:unit", 2).state
    assert every == {"[{'passed': ('b',)}]": "succeeded"}.get(str(runs), state)


ALERT = "alert.silent:1d:subject=alert:disk;heartbeat_s=7200"
HOURLY = tuple(range(1, 27))


def heard(*hours: float, **facts: str) -> Observed:
    """A source whose heartbeat was seen at some hours."""
    observed = Observed()
    for hour in hours:
        observed.add("alert.fired", "alert:Watchdog", hour / 24, **facts)
    return observed


def fired(observed: Observed, hour: float, since: float, event_type: str = "alert.fired") -> Observed:
    """The source, and an alert of which it says when it begins and ends."""
    since_s = BEGIN_S + int(since * 3_600)
    return observed.add(event_type, "alert:disk", hour / 24, fingerprint="f1", since=since_s)


def test_silence_needs_a_source_that_is_heard_through_the_window() -> None:
    assert heard(*HOURLY).verdict(ALERT, 0.5).state == "running"
    assert heard(*HOURLY).verdict(ALERT, 1.1).state == "succeeded"
    assert heard(1, 2, 3, 20, 22, 24, 26).verdict(ALERT, 2).state == "overdue"  # a dead pipe looks silent, too
    assert heard(*HOURLY[:-1]).verdict(ALERT, 2).state == "overdue"  # what fired at the end may be on its way
    assert Observed().verdict(ALERT, 2).state == "overdue"
    other = heard(*HOURLY).verdict(f"{ALERT};heartbeat=Other", 2)
    assert (other.state, other.value) == ("overdue", "alert:Other was not seen to fire: its source is not heard")


def test_an_alert_that_fires_fails_when_the_window_is_over_and_its_source_was_heard() -> None:
    assert heard(1).add("alert.fired", "alert:disk", 0.5).verdict(ALERT, 0.6).state == "failed_early"
    found = heard(*HOURLY).add("alert.fired", "alert:disk", 0.5).verdict(ALERT, 2)
    assert (found.state, found.value) == ("failed", "fired (2026-01-01 12:00 UTC)")
    # not heard: whether a decision enters a figure does not depend on its outcome
    assert heard(1).add("alert.fired", "alert:disk", 0.5).verdict(ALERT, 2).state == "failed_early"
    assert fired(heard(*HOURLY), 3, 3).verdict("alert.silent:1d:subject=alert:f1;heartbeat_s=7200", 2).state == "failed"


@pytest.mark.parametrize(
    ("events", "settle_s", "state"),
    [
        ([("alert.fired", -1, -3)], 0, "overdue"),  # it fired when the decision was made, and was not seen to end
        ([("alert.fired", -1, -3), ("alert.resolved", -0.5, -3)], 0, "succeeded"),
        ([("alert.fired", -1, -3), ("alert.resolved", 2, -3)], 0, "failed"),
        ([("alert.fired", -1, -3), ("alert.resolved", 2, -3)], 3 * 3_600, "succeeded"),
        ([("alert.resolved", 30, 23)], 0, "failed"),  # that it fired became known late
        ([("alert.fired", 2, -3), ("alert.resolved", -1, -3)], 0, "succeeded"),  # word that it fires came late
        ([("alert.fired", 30, 30)], 0, "succeeded"),
    ],
)
def test_a_source_that_says_when_an_alert_ends(
    events: list[tuple[str, float, float]], settle_s: int, state: State
) -> None:
    observed = heard(*HOURLY)
    for event_type, hour, since in events:
        fired(observed, hour, since, event_type)
    assert observed.verdict(f"{ALERT};settle_s={settle_s}", 2).state == state


def test_polls_show_everything_that_fires() -> None:
    observed = fired(Observed(), -1, -3)
    for hour in HOURLY:
        observed.add("alert.polled", "alertmanager:main", hour / 24, firing=("Watchdog", "other"))
    assert observed.verdict(ALERT, 2).state == "succeeded"  # the first poll shows that it had ended
    assert observed.verdict(f"{ALERT};source=second", 2).state == "overdue"
    late = observed.add("alert.polled", "alertmanager:main", 0.9, firing_2=("Watchdog", "disk"))
    assert late.verdict(ALERT, 2).state == "failed"


@pytest.mark.parametrize(
    ("hours", "state"),
    [
        ((), "succeeded"),
        ((-1,), "overdue"),  # the last look before the window lists it, and none after it says that it ended
        ((24.2,), "overdue"),  # the first look after the window lists it: it may have begun before
    ],
)
def test_an_alert_that_may_have_fired_is_not_silent(hours: tuple[float, ...], state: State) -> None:
    observed = fired(heard(*HOURLY), -2, -3)
    observed.add("alert.polled", "alertmanager:main", -1.5 / 24)
    for hour in hours:
        observed.add("alert.polled", "alertmanager:main", hour / 24, firing=("disk",))
    assert observed.verdict(ALERT, 2).state == state


def test_facts_that_are_not_as_expected_end_no_other_test() -> None:
    observed = heard(*HOURLY).add("alert.fired", "alert:disk", 0.5, since="x", fingerprint="f")
    observed.add("alert.polled", "alertmanager:main", 0.5, firing="disk", fingerprint=("a",))
    assert observed.verdict(ALERT, 2).state == "failed"


@pytest.mark.parametrize(
    ("codes", "state"),
    [([], "overdue"), ([0], "succeeded"), ([1], "failed"), ([127, 0], "succeeded"), ([None, 126, 1], "failed"),
     ([None], "overdue")],
)  # fmt: skip
def test_errors_of_a_command_are_no_failures(codes: list[int | None], state: State) -> None:
    observed = Observed().add("command.ran", "command:smoke", 0.5, exit=1)  # before the window is over
    for number, code in enumerate(codes):
        facts: dict[str, str | int | tuple[str, ...]] = {"error": "timeout"} if code is None else {"exit": code}
        observed.add("command.ran", "command:smoke", 1.1 + number / 10, **facts)
    assert observed.verdict("command.exit:1d:subject=command:smoke", 3).state == state


@pytest.mark.parametrize(
    ("statuses", "percent", "state"),
    [
        ([200] * 9, 100, "succeeded"),
        ([200, 503, *[200] * 7], 100, "failed"),
        ([200, 503, *[200] * 7], 80, "succeeded"),
        ([200, None, *[200] * 7], 100, "succeeded"),  # the prober could not connect
        ([200, 200, None, None, None, None, 200, 200, 200], 100, "unresolvable"),
        ([200], 100, "unresolvable"),
    ],
)
def test_samples_of_an_address(statuses: list[int | None], percent: int, state: State) -> None:
    observed = Observed()
    for number, status in enumerate(statuses):
        facts: dict[str, str | int | tuple[str, ...]] = {"error": "dns"} if status is None else {"status": status}
        observed.add("http.sampled", "http:home", (number + 1) / 9, **facts)
    text = f"http.status:1d:subject=http:home;percent={percent}"
    assert observed.verdict(text, 0.9).state == "running"
    assert observed.verdict(text, 1).state == state


def test_what_must_not_happen_needs_a_scan() -> None:
    text = "no_event:1d:subject=deploy:web;type=rolled_back"
    assert Observed().scan("other", 1, "deploy:web").verdict(text, 1).state == "succeeded"
    assert Observed().verdict(text, 2).state == "overdue"
    rolled = Observed().add("rolled_back", "deploy:web", 0.2)
    assert rolled.verdict(text, 0.5).state == "failed_early"
    assert rolled.scan("other", 1, "deploy:web").verdict(text, 2).state == "failed"


def test_several_tests_together() -> None:
    observed = landed().scan("git", 30).request(3, "opened", 1).request(3, "closed", 2).scan("forge", 30)
    succeeds, fails, waits = KEPT, REQUEST, "forge.merged:14d:subject=pr:9"
    for joint, parts, state in (
        (" & ", (succeeds, fails), "failed"), (" & ", (succeeds, waits), "waiting"), (" & ", (waits, fails), "failed"),
        (" & ", (succeeds, succeeds), "succeeded"), (" | ", (fails, succeeds), "succeeded"),
        (" | ", (fails, waits), "waiting"), (" | ", (fails, fails), "failed"),
    ):  # fmt: skip
        assert observed.verdict(joint.join(parts)).state == state


def test_a_rule_of_another_version_finds_nothing() -> None:
    for changed in ({"rule": "git.loved"}, {"version": 2}):
        found = find_verdict(structs.replace(stated_test(KEPT), **changed), landed().evidence(30))
        assert found.state == "unresolvable"


def test_a_statement_that_cannot_be_read_is_unresolvable() -> None:
    wrong = structs.replace(stated_test(f"{KEPT} & {KEPT}"), params={"tests": ("git.loved:14d",)})
    found = find_verdict(wrong, landed().evidence(30))
    assert (found.state, found.value) == ("unresolvable", "'git.loved' is not a rule.")
    nothing = find_verdict(structs.replace(wrong, params={}), landed().evidence(30))
    assert nothing.state == "unresolvable"


def test_evidence_before_the_statement_is_seen() -> None:
    observed = landed().scan("git", 30)
    assert observed.verdict(KEPT, position=1).first_position == 11
