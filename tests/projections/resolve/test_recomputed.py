"""Outcomes of tests, computed a second time by a program that has nothing of Tallystick."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
import pytest

from examples import recompute_reviews as program
from projections.changes.recorded_requests import check_digest
from projections.resolve.rules import is_final
from projections.resolve.stated_tests import find_verdict
from tests.projections.resolve.observed import BEGIN_S, DAY_S, REPO, Observed, at, stated_test

COMMITS = ("a1" * 20, "a1" * 10 + "b2" * 10, "c3" * 20, "d4" * 20)
BROUGHT, OTHER = "e5" * 20, "cd" * 8
NAMES = ("test", "lint", "docs")


Facts = dict[str, str | int | tuple[str, ...]]


class Some:
    """Facts that are drawn."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def either(self, one: Facts, other: Facts) -> Facts:
        return self._random.choice((one, other))

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(check_digest(name) for name in self._random.sample(NAMES, self._random.randrange(4))))

    def landed(self) -> Facts:
        decisions, commits = self._random.choice(((), (), ("d1",))), self._random.choice(((), (BROUGHT,)))
        return {"born": self._random.choice((0, 8, 10)), "decisions": decisions, "commits": commits}

    def alive(self) -> Facts:
        known: Facts = {"day_14": self._random.randrange(11)}
        return self._random.choice((known, known | {"day_30": self._random.randrange(11)}))

    def fired(self) -> Facts:
        since = {"since": BEGIN_S + self._random.randrange(-5, 40) * DAY_S}
        return {"fingerprint": self._random.choice(("f1", "f2")), **self._random.choice(({}, since))}

    def polled(self) -> Facts:
        return {"firing": tuple(name for name in ("Watchdog", "Watchdog", "disk", "f1") if self._random.random() < 0.5)}

    def checks(self) -> Facts:
        result = self._random.choice(("green", "red", "flaky", "none"))
        return {"result": result, "succeeded": self.names(), "failed": self.names(), "flaky": self.names()}


def observe(random: Random, observed: Observed) -> None:
    """Add an observation or a scan of any kind."""
    day, repo = random.randrange(40), random.choice((REPO, REPO, OTHER))
    change = f"git:{repo}:{random.choice(COMMITS)}"
    request = f"pr:{repo}:{random.randrange(1, 4)}"
    some = Some(random)
    kinds: dict[str, tuple[str, Facts]] = {
        "git.landed": (change, some.landed()),
        "git.reverted": (change, {}),
        "git.fixed": (change, {}),
        "git.gone": (change, {}),
        "git.outcomes_withdrawn": (change, {}),
        "git.lines_alive": (change, some.alive()),
        "forge.opened": (request, {"head": random.choice((*COMMITS, BROUGHT))}),
        "forge.merged": (request, some.either({}, {"commit": random.choice(COMMITS)})),
        "forge.closed": (request, {}),
        "forge.reopened": (request, {}),
        "forge.checked": (request, some.checks()),
        "forge.check_failed": (f"check:{repo}:{random.choice(COMMITS)}", {"check": check_digest("test")}),
        "junit.tested": ("junit:unit", {"passed": some.names(), "failed": some.names()}),
        "alert.fired": (random.choice(("alert:disk", "alert:Watchdog", "alert:Other")), some.fired()),
        "alert.resolved": ("alert:disk", some.fired()),
        "alert.polled": ("alertmanager:main", some.polled()),
        "command.ran": ("command:smoke", some.either({"exit": random.choice((0, 1, 126))}, {"error": "timeout"})),
        "http.sampled": ("http:home", some.either({"status": random.choice((200, 503))}, {"error": "dns"})),
        "rolled_back": ("deploy:web", {}),
    }
    if random.random() < 0.15:
        observed.scan(random.choice(("git", "forge", "other")), day, random.choice((repo, repo, "deploy:web")))
        return
    weights = [6 if kind in ("git.landed", "forge.opened", "alert.polled", "http.sampled") else 2 for kind in kinds]
    (event_type,) = random.choices(list(kinds), weights)
    subject, facts = kinds[event_type]
    observed.add(event_type, subject, day, **facts)


def hear(random: Random, observed: Observed) -> None:
    """Add signs of a source of alerts, for as long as any window."""
    for day in range(0, 56, random.choice((1, 3))):
        names = ("Watchdog", "disk") if random.random() < 0.05 else ("Watchdog",)
        if random.random() < 0.5:
            observed.add("alert.polled", "alertmanager:main", day, firing=names)
        else:
            observed.add("alert.fired", f"alert:{names[-1]}", day)
            observed.add("alert.fired", "alert:Watchdog", day)


def one_test(random: Random) -> str:
    days = random.choice(("1d", "7d", "14d", "30d"))
    commit = random.choice(("", f";subject=commit:{random.choice(COMMITS)[: random.choice((7, 12, 40))]}"))
    request = random.choice((*(f"pr:{number}" for number in (1, 2, 3)), f"pr:{REPO}:1", f"commit:{COMMITS[2][:9]}"))
    checks = random.choice(("", f";names={random.choice(NAMES)}", ";names=test+lint"))
    alert_days = random.choice((7, 14, 30))
    alert = f"heartbeat_s={random.choice((3_600, alert_days * DAY_S // 4))}"
    alert += random.choice(("", ";settle_s=80000")) + random.choice(("", ";heartbeat=Other"))
    return random.choice((
        f"git.kept:{days}:fixes={random.choice(('any', 'ignore'))}{commit}",
        f"git.lines_alive:{days}:percent={random.choice((50, 80))}{commit}",
        f"forge.merged:{days}:subject={request}",
        f"forge.merged_and_kept:{days}:subject={request};kept_days={random.choice((1, 14))}",
        f"checks.green:{days}:subject={request}{checks}",
        f"junit.passed:{days}:subject=junit:unit{random.choice(('', ';ids=test'))}",
        f"alert.silent:{alert_days}d:subject=alert:{random.choice(('disk', 'f1', 'quiet'))};{alert}",
        f"command.exit:{days}:subject=command:smoke;code={random.choice((0, 1))}",
        f"http.status:{days}:subject=http:home;percent={random.choice((50, 100))}",
        f"no_event:{days}:subject=deploy:web;type=rolled_back",
    ))  # fmt: skip


def some_tests(random: Random) -> Sequence[str]:
    found = []
    for _ in range(30):
        parts = [one_test(random) for _ in range(random.choice((1, 1, 1, 2, 3)))]
        found.append(random.choice((" & ", " | ")).join(parts))
    return found


@pytest.mark.parametrize("seed", range(100))
def test_another_program_finds_the_same(seed: int) -> None:
    random, observed, log = Random(seed), Observed(), program.Log()
    if seed % 2:
        hear(random, observed)
    for _ in range(60):
        observe(random, observed)
    for event in observed.events:
        log.add(event)
    for text in some_tests(random):
        stated, now = stated_test(text, random.randrange(10)), random.randrange(60)
        found = find_verdict(stated, observed.evidence(now))
        data = {"rule": stated.rule, "window_s": stated.window_s, "params": dict(stated.params)}
        data |= {} if stated.subject is None else {"subject": stated.subject}
        outcome, due_s = program.outcome(log, "d1", stated.stated_s, data, BEGIN_S + now * DAY_S)
        assert found.state == {"success": "succeeded", "failure": "failed", None: found.state}[outcome], text
        assert (outcome is not None, due_s) == (is_final(found), found.due_s if is_final(found) else 0), text


def test_the_program_reads_an_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    observed, file = Observed().change(COMMITS[0], 1, decisions=("d1",)).scan("git", 20), tmp_path / "export.ndjson"
    test = {"decision_id": "d1", "rule": "git.kept", "window_s": DAY_S}
    for outcome, wrong in (("success", 0), ("failure", 1)):
        review = {"decision_id": "d1", "outcome": outcome, "rule": "git.kept", "rule_version": 1, "due": at(2)}
        events = [
            {"type": "decision.test_stated.v1", "time": at(0), "data": test},
            *observed.events,
            {"type": "decision.reviewed.v2", "time": at(30), "data": review},
        ]
        file.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
        assert program.main(file) == wrong
        assert f"{1 - wrong} reviews are right, {wrong} differ" in capsys.readouterr().out
