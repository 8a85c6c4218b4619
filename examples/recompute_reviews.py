"""Recompute the reviews that tests of decisions made, from an export alone.

    tallystick export --output audit
    python examples/recompute_reviews.py audit/events.ndjson

It uses the standard library and nothing of Tallystick. For each `decision.reviewed.v2` by a rule it looks at the events
before, applies the rule, and compares outcome and due time. Exit code 1: one differs.
"""

import json
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

DAY = 86_400
UNITS = {"s": 1, "m": 60, "h": 3_600, "d": DAY}
OK, BAD = "success", "failure"
ALERTS = ("alert.fired", "alert.resolved")
NONE: Final = None
Facts = dict[str, Any]
Seen = tuple[str, str, int, Facts]
"""Subject, type, time, and facts of an observation."""
NOTHING: Seen = ("", "", 0, {})
Outcome = tuple[str | None, int]
"""The outcome, None without one; and when the window ends, 0 while that is not known."""


def seconds(text: str) -> int:
    """Return a time as seconds since 1970."""
    return int(datetime.fromisoformat(text).timestamp())


def digest(name: str) -> str:
    """Return what the log has in the place of a name."""
    return sha256(name.encode()).hexdigest()[:16]


class Log:
    """What an export says up to a position."""

    def __init__(self) -> None:
        self.tests: dict[str, tuple[int, Facts]] = {}
        self.seen: list[Seen] = []
        self.scans: dict[str | tuple[str, str], int] = {}

    def add(self, event: Facts) -> None:
        """Add an event."""
        kind, data = event["type"], event["data"]
        if kind == "decision.test_stated.v1":
            self.tests.setdefault(data["decision_id"], (seconds(event["time"]), data))
        elif kind == "observation.recorded.v2" and "subject" in data and "occurred" in data:
            subject, event_type = data["subject"], data["event_type"]
            # what is observed of a change or a request begins with its landing or opening
            is_first = not subject.startswith(("git:", "pr:")) or event_type in ("git.landed", "forge.opened")
            if is_first or self.of(subject):
                self.seen.append((subject, event_type, seconds(data["occurred"]), data.get("facts", {})))
        elif kind == "observation.scanned.v1":
            at = seconds(data["through"])
            both = data["source"], data["scope"]
            self.scans[both] = max(at, self.scans.get(both, 0)) if data["source"] == "forge" else at
            self.scans[data["scope"]] = max(at, self.scans.get(data["scope"], 0))

    def of(self, subject: str, *kinds: str) -> list[Seen]:
        """Return the observations of a subject in the order of the log."""
        found = [one for one in self.seen if one[0] == subject or (one[1] in ALERTS and self.is_of(one, subject))]
        return [one for one in found if not kinds or one[1] in kinds]

    def is_of(self, alert: Seen, subject: str) -> bool:
        """Return whether a subject is the fingerprint of an alert."""
        return alert[0].startswith("alert:") and subject == f"alert:{alert[3].get('fingerprint')}"

    def last(self, subject: str, kind: str) -> Seen:
        """Return the last observation of a kind; NOTHING if there is none."""
        return (self.of(subject, kind) or [NOTHING])[-1]

    def landed(self, subject: str, decision: str) -> set[str]:
        """Return the subjects of changes that landed a commit, or that name a decision."""
        kind, _, wanted = (subject or f"decision:{decision}").partition(":")
        found = set()
        for name in {one[0] for one in self.seen if one[0].startswith("git:")}:
            last = self.last(name, "git.landed")
            if last is NOTHING:
                continue
            facts, commit = last[3], name.rpartition(":")[2]
            if kind == "decision":
                named = wanted in facts.get("decisions", ())
            else:
                named = any(one.startswith(wanted) for one in (commit, *facts.get("commits", ())))
                named = named or any(
                    self.merge_of(request) == commit and request.split(":")[1] == name.split(":")[1]
                    for request in self.requests(f"commit:{wanted}")
                )
            if named and self.is_there(name):
                found.add(name)
        return found

    def is_there(self, change: str) -> bool:
        """Return whether history still has a change."""
        kinds = [one[1] for one in self.of(change, "git.landed", "git.gone")]
        return kinds[-1] == "git.landed"

    def first_failure(self, change: str, *, with_fixes: bool) -> int | None:
        """Return when a change was reverted or fixed as far as that was not withdrawn; None if it was not."""
        times: dict[str, int] = {}
        for _, kind, at, _ in self.of(change):
            if kind == "git.outcomes_withdrawn":
                times = {}
            elif kind == "git.reverted" or (kind == "git.fixed" and with_fixes):
                times[kind] = at
        return min(times.values(), default=None)

    def requests(self, subject: str) -> set[str]:
        """Return the subjects of the requests that a test names."""
        kind, _, rest = subject.partition(":")
        found = set()
        for name in {one[0] for one in self.seen if one[0].startswith("pr:")}:
            _, repository, number = name.split(":")
            opened = self.last(name, "forge.opened")
            if opened is NOTHING:
                continue
            if kind == "commit":
                heads = (opened[3].get("head", ""), self.merge_of(name) or "")
                named = any(one.startswith(rest) for one in heads)
            else:
                named = rest in (number, f"{repository}:{number}")
            if named:
                found.add(name)
        return found

    def merge_of(self, request: str) -> str | None:
        """Return the commit that a request landed as; None if it is not merged."""
        for _, kind, _, facts in reversed(self.of(request, "forge.merged", "forge.closed", "forge.reopened")):
            return facts.get("commit") if kind == "forge.merged" else None
        return None

    def end_of(self, request: str) -> tuple[str, int] | None:
        """Return how a request ended, and when; None while it is open."""
        for _, kind, at, _ in reversed(self.of(request, "forge.merged", "forge.closed", "forge.reopened")):
            return None if kind == "forge.reopened" else (kind, at)
        return None


class Asked(NamedTuple):
    """A test, what is known, and the time as of which it is asked."""

    log: Log
    decision: str
    subject: str
    params: Facts
    window: int
    start: int | None
    stated: int
    now: int
    grace: int

    @property
    def begin(self) -> int:
        """When the window begins, where the rule does not say it."""
        return self.stated if self.start is None else self.start

    @property
    def due(self) -> int:
        return self.begin + self.window


def outcome(log: Log, decision: str, stated: int, data: Facts, now: int) -> Outcome:
    """Return what a test finds: an outcome and the end of its window, or two times None."""
    rule, params, window = data["rule"], data.get("params", {}), data["window_s"]
    if rule in ("all_of", "any_of"):
        same = {"start": data["start"]} if "start" in data else {}
        found = [outcome(log, decision, stated, part(text) | same, now) for text in params["tests"]]
        deciding, other = (BAD, OK) if rule == "all_of" else (OK, BAD)
        decided = [end for what, end in found if what == deciding]
        if decided:
            return deciding, min(decided)
        return (other, max(end for _, end in found)) if all(what == other for what, _ in found) else (NONE, 0)
    start = seconds(data["start"]) if "start" in data else None
    asked = Asked(log, decision, data.get("subject", ""), params, window, start, stated, now, data.get("grace_s", 0))
    return RULES[rule](asked)


def part(text: str) -> Facts:
    """Read a test as it is written in a test of several."""
    rule, window, *rest = text.split(":", 2)
    params: Facts = dict(pair.split("=", 1) for pair in ":".join(rest).split(";") if pair)
    data = {"rule": rule, "window_s": int(window[:-1]) * UNITS[window[-1]]}
    if "subject" in params:
        data["subject"] = params.pop("subject")
    if "grace" in params:
        grace = params.pop("grace")
        data["grace_s"] = int(grace[:-1]) * UNITS[grace[-1]]
    for name, value in params.items():
        numbers = ("percent", "kept_days", "heartbeat_s", "settle_s", "code", "status")
        params[name] = int(value) if name in numbers else tuple(value.split("+")) if name in ("names", "ids") else value
    return data | {"params": params}


def kept(a: Asked) -> Outcome:
    """Apply the rule git.kept."""
    found = a.log.landed(a.subject, a.decision)
    if len({name.rpartition(":")[2] for name in found}) != 1:
        return NONE, 0
    change = min(found, key=lambda name: (a.log.last(name, "git.landed")[2], name.split(":")[1]))
    return kept_since(a.log, change, a.params, a.window, a.start)


def kept_since(log: Log, change: str, params: Facts, window: int, start: int | None) -> Outcome:
    """Return whether a change was kept for so long after it landed."""
    begin = log.last(change, "git.landed")[2] if start is None else start
    failed = log.first_failure(change, with_fixes=params.get("fixes") != "ignore")
    if log.scans.get(("git", change.split(":")[1]), 0) < begin + window:
        return NONE, 0
    return (BAD if failed is not None and failed <= begin + window else OK), begin + window


def lines_alive(a: Asked) -> Outcome:
    """Apply the rule git.lines_alive."""
    found, days = a.log.landed(a.subject, a.decision), a.window // DAY
    if len({name.rpartition(":")[2] for name in found}) != 1 or days not in (14, 30, 90) or a.window % DAY:
        return NONE, 0
    change = min(found, key=lambda name: (a.log.last(name, "git.landed")[2], name.split(":")[1]))
    _, _, begin, facts = a.log.last(change, "git.landed")
    alive = {}
    for _, kind, _, counted in a.log.of(change, "git.lines_alive", "git.outcomes_withdrawn"):
        alive = counted if kind == "git.lines_alive" else {}
    born, left = facts.get("born", 0), alive.get(f"day_{days}")
    if not born or left is None or a.log.scans.get(("git", change.split(":")[1]), 0) < begin + a.window:
        return NONE, 0
    return (OK if 100 * left >= a.params.get("percent", 50) * born else BAD), begin + a.window


def merged(a: Asked) -> Outcome:
    """Apply the rule forge.merged."""
    found = a.log.requests(a.subject)
    if len(found) != 1:
        return NONE, 0
    (request,) = found
    due = (a.log.last(request, "forge.opened")[2] if a.start is None else a.start) + a.window
    if a.log.scans.get(("forge", request.split(":")[1]), 0) < due:
        return NONE, 0
    end = a.log.end_of(request)
    return (OK if end is not None and end[0] == "forge.merged" and end[1] <= due else BAD), due


def merged_and_kept(a: Asked) -> Outcome:
    """Apply the rule forge.merged_and_kept."""
    found = a.log.requests(a.subject)
    if len(found) != 1:
        return NONE, 0
    (request,) = found
    due = (a.log.last(request, "forge.opened")[2] if a.start is None else a.start) + a.window
    end = a.log.end_of(request)
    if end is None or end[0] != "forge.merged" or end[1] > due:
        return merged(a)
    change = f"git:{request.split(':')[1]}:{a.log.merge_of(request)}"
    if not a.log.of(change, "git.landed") or not a.log.is_there(change):
        return NONE, 0
    return kept_since(a.log, change, a.params, a.params.get("kept_days", 14) * DAY, a.start)


def checks_green(a: Asked) -> Outcome:
    """Apply the rule checks.green."""
    found = a.log.requests(a.subject)
    if len(found) != 1:
        return NONE, 0
    (request,) = found
    begin = a.log.last(request, "forge.opened")[2] if a.start is None else a.start
    end = a.log.end_of(request)
    due = begin + a.window if end is None else min(end[1], begin + a.window)
    checked = a.log.last(request, "forge.checked")
    facts = checked[3]
    result = facts.get("result", "none")
    if names := {digest(name) for name in a.params.get("names", ())}:
        red, green, flaky = (set(facts.get(name, ())) for name in ("failed", "succeeded", "flaky"))
        result = "red" if names & red else "green" if names <= green - flaky else "unclear"
    head = a.log.last(request, "forge.opened")[3].get("head")
    attempts = a.log.of(f"check:{request.split(':')[1]}:{head}", "forge.check_failed") if head else []
    failed_once = {one[3].get("check") for one in attempts if one[2] <= due and isinstance(one[3].get("check"), str)}
    if result == "green" and (failed_once & names if names else failed_once):
        result = "unclear"
    if a.log.scans.get(("forge", request.split(":")[1]), 0) < due or result not in ("green", "red"):
        return NONE, 0
    return (OK if result == "green" else BAD), due


def in_window(log: Log, subject: str, kind: str, begin: int, due: int) -> list[Seen]:
    """Return what was observed of a subject in a window, oldest first."""
    return sorted((one for one in log.of(subject, kind) if begin <= one[2] <= due), key=lambda one: one[2])


def junit_passed(a: Asked) -> Outcome:
    """Apply the rule junit.passed."""
    begin = a.stated if a.start is None else a.start
    runs = in_window(a.log, a.subject, "junit.tested", begin, begin + a.window)
    if not runs or a.now < begin + a.window + a.grace:
        return NONE, 0
    passed, failed = (set(runs[-1][3].get(name, ())) for name in ("passed", "failed"))
    names = {digest(name) for name in a.params.get("ids", ())} or passed | failed
    if names & failed:
        return BAD, begin + a.window
    return (OK, begin + a.window) if names and names <= passed else (NONE, 0)


def alert_silent(a: Asked) -> Outcome:
    """Apply the rule alert.silent."""
    begin = a.stated if a.start is None else a.start
    due, settled, gap = begin + a.window, begin + a.params.get("settle_s", 0), a.params.get("heartbeat_s", 600)
    polls = a.log.of(f"alertmanager:{a.params.get('source', 'main')}", "alert.polled")
    polls.sort(key=lambda one: one[2])
    own = sorted(a.log.of(a.subject, "alert.fired", "alert.resolved"), key=lambda one: one[2])
    ends = {incident(one) for one in own if one[1] == "alert.resolved"}
    own = [one for one in own if one[1] == "alert.resolved" or "since" not in one[3] or incident(one) not in ends]
    fired = any(min(incident(one)[1], one[2]) <= due and one[2] > settled for one in own)
    fired = fired or any(settled < poll[2] <= due and listed(poll, a.subject) for poll in polls if poll[2] > begin)
    heartbeat = f"alert:{a.params.get('heartbeat', 'Watchdog')}"
    beats = [one[2] for one in a.log.of(heartbeat, "alert.fired")]
    beats += [poll[2] for poll in polls if listed(poll, heartbeat)]
    through = begin
    for at in sorted(at for at in beats if at > begin):
        through = at if at - through <= gap else through
    last = {one[3].get("fingerprint"): one for one in own if one[2] <= settled}
    open_at = [one[2] for one in last.values() if one[1] == "alert.fired" and "since" in one[3]]
    open_at += [poll[2] for poll in [poll for poll in polls if poll[2] <= settled][-1:] if listed(poll, a.subject)]
    unknown = any(not any(at < p[2] <= due and not listed(p, a.subject) for p in polls) for at in open_at)
    after = [poll for poll in polls if due < poll[2] <= due + 2 * gap][:1]
    unknown = unknown or any(listed(poll, a.subject) for poll in after)
    if through < due + gap or a.now < due + a.grace or (unknown and not fired):
        return NONE, 0
    return (BAD if fired else OK), due


def incident(one: Seen) -> tuple[Any, int]:
    """Return which incident of an alert it is: its fingerprint, and since when it fires."""
    since = one[3].get("since")
    return one[3].get("fingerprint"), since if isinstance(since, int) else one[2]


def listed(poll: Seen, subject: str) -> bool:
    """Return whether an alert is among what fired in a poll."""
    lists = [names for key, names in poll[3].items() if key.startswith("firing") and isinstance(names, (list, tuple))]
    return any(subject.partition(":")[2] in names for names in lists)


def command_exit(a: Asked) -> Outcome:
    """Apply the rule command.exit."""
    due = (a.stated if a.start is None else a.start) + a.window
    for _, _, _, facts in sorted(
        (o for o in a.log.of(a.subject, "command.ran") if o[2] >= due), key=lambda one: one[2]
    ):
        if isinstance(facts.get("exit"), int) and facts["exit"] not in (126, 127):
            return (OK if facts["exit"] == a.params.get("code", 0) else BAD), due
    return NONE, 0


def http_status(a: Asked) -> Outcome:
    """Apply the rule http.status."""
    begin = a.stated if a.start is None else a.start
    due = begin + a.window
    seen = in_window(a.log, a.subject, "http.sampled", begin, due)
    answered = [(at, facts["status"]) for _, _, at, facts in seen if isinstance(facts.get("status"), int)]
    times = [begin, *(at for at, _ in answered), due]
    if a.now < due + a.grace or any(4 * (later - at) > a.window for at, later in pairwise(times)):
        return NONE, 0
    good = sum(status == a.params.get("status", 200) for _, status in answered)
    return (OK if 100 * good >= a.params.get("percent", 100) * len(answered) else BAD), due


def no_event(a: Asked) -> Outcome:
    """Apply the rule no_event."""
    begin = a.stated if a.start is None else a.start
    if a.log.scans.get(a.subject, 0) < begin + a.window:
        return NONE, 0
    happened = in_window(a.log, a.subject, a.params.get("type", ""), begin, begin + a.window)
    return (BAD if happened else OK), begin + a.window


RULES: Mapping[str, Callable[[Asked], Outcome]] = {
    "git.kept": kept,
    "git.lines_alive": lines_alive,
    "forge.merged": merged,
    "forge.merged_and_kept": merged_and_kept,
    "checks.green": checks_green,
    "junit.passed": junit_passed,
    "alert.silent": alert_silent,
    "command.exit": command_exit,
    "http.status": http_status,
    "no_event": no_event,
}


def main(path: Path) -> int:
    """Recompute every review by a rule; return how many differ."""
    log, wrong, right = Log(), 0, 0
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            data = event["data"]
            if event["type"] == "decision.reviewed.v2" and "rule" in data:
                stated, test = log.tests[data["decision_id"]]
                found = outcome(log, data["decision_id"], stated, test, seconds(event["time"]))
                if found == (data["outcome"], seconds(data["due"])):
                    right += 1
                else:
                    wrong += 1
                    print(f"{data['decision_id']}: the review says {data['outcome']}, the events say {found[0]}")
            log.add(event)
    print(f"{right} reviews are right, {wrong} differ")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1])) else 0)
