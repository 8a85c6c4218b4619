"""Read a test as people and agents write it: RULE, then its window and parameters, `git.kept:14d:fixes=ignore`.

Several tests are joined by ` & ` (all must succeed) or by ` | ` (one must).
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import structs

from events.decision import DecisionTestStated
from events.errors import InvalidEvent
from projections.resolve.rules import ALL_OF, ANY_OF, PARTS_MAX, RULES, Rule
from projections.resolve.states import Facts
from projections.resolve.subject_rules import GAPS_MIN, HEARTBEAT_S

UNITS_S: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
WINDOW_S_MAX: Final = 3_660 * 86_400

_duration = re.compile(r"([1-9][0-9]{0,5})([dhms])")
_commit = re.compile(r"[0-9a-f]{7,64}")
_JOINTS: Final = {ALL_OF: " & ", ANY_OF: " | "}


class Statement(msgspec.Struct, frozen=True):
    """What a text states."""

    rule: str
    version: int
    subject: str | None
    params: Facts
    window_s: int
    grace_s: int


def complete_test(stated: DecisionTestStated, *, pr: int | None = None) -> DecisionTestStated:
    """Return a statement as it is stored: its text is read, and what it does not state is the rule's.

    Errors: InvalidEvent, which says what may be there.
    """
    words = [f"{name}={_written(value)}" for name, value in (stated.params or {}).items()]
    words += [] if stated.subject is None else [f"subject={stated.subject}"]
    words += [f"grace={write_seconds(stated.grace_s)}"] if stated.grace_s else []
    text = stated.rule
    if stated.rule in _JOINTS:
        text = _join(stated.rule, stated.params or {})
    else:
        if ":" not in text:
            text += "" if stated.window_s is None else f":{write_seconds(stated.window_s)}"
        text = ":".join([text, ";".join(words)]) if words else text
    read = read_statement(text, pr=pr)
    return structs.replace(
        stated,
        rule=read.rule,
        version=read.version,
        subject=read.subject,
        params=dict(read.params) or None,
        window_s=read.window_s,
        grace_s=read.grace_s,
    )


def read_statement(text: str, *, pr: int | None = None) -> Statement:
    """Return what a test states. Without `subject=` it is about the pull request of its decision, or its change.

    Errors: InvalidEvent, which says what may be there.
    """
    for rule, joint in _JOINTS.items():
        if joint in text:
            return _read_several(rule, text.split(joint), pr)
    name, *words = text.strip().split(":")
    found = RULES.get(name)
    if found is None:
        raise _invalid(f"{name!r} is not a rule.", f"Rules: {', '.join(RULES)}.")
    window_s, grace_s, subject, params = found.window_s, 0, None, dict[str, str | int | tuple[str, ...]]()
    if words and "=" not in words[0]:
        window_s = _seconds(words.pop(0))
    for word in ":".join(words).split(";") if words else ():
        key, equals, value = word.partition("=")
        if not equals or not value:
            raise _invalid(f"{word!r} is not NAME=VALUE.", "Write RULE:WINDOW:NAME=VALUE;NAME=VALUE.")
        if key == "subject":
            subject = value
        elif key == "grace":
            grace_s = _seconds(value)
        else:
            params[key] = _param(found, key, value)
    _check_alert(params, subject, window_s)
    return Statement(name, found.version, _subject(found, subject, pr), params, window_s, grace_s)


def _check_alert(params: Facts, subject: str | None, window_s: int) -> None:
    """Check the parameters of `alert.silent`: who states a test may not make it weak. Errors: InvalidEvent."""
    if isinstance(settle_s := params.get("settle_s"), int) and settle_s >= window_s:
        raise _invalid(f"settle_s {settle_s} is not shorter than the window.", "State a longer window.")
    most_s = max(HEARTBEAT_S, window_s // GAPS_MIN)
    if isinstance(gap_s := params.get("heartbeat_s"), int) and not 0 < gap_s <= most_s:
        raise _invalid(f"heartbeat_s {gap_s} is not 1 to {most_s}, a quarter of the window.", "State another.")
    if "heartbeat" in params and subject == f"alert:{params['heartbeat']}":
        raise _invalid("an alert is not its own heartbeat.", "Name an alert that always fires.")


def _read_several(rule: str, parts: list[str], pr: int | None) -> Statement:
    if len(parts) > PARTS_MAX:
        raise _invalid(f"{len(parts)} tests are more than {PARTS_MAX}.", "State fewer.")
    read = [read_statement(part, pr=pr) for part in parts]
    if any(one.rule in _JOINTS for one in read):
        raise _invalid("& and | are mixed.", "Use one of them.")
    written = tuple(write_statement(one) for one in read)
    return Statement(rule, 1, None, {"tests": written}, max(one.window_s for one in read), 0)


def read_parts(params: Facts) -> list[Statement]:
    """Return the tests of a statement of several, as they were written."""
    tests = params.get("tests", ())
    return [read_statement(text) for text in tests] if isinstance(tests, tuple) else []


def write_test(stated: DecisionTestStated) -> str:
    """Return a text that states the same as the payload of an event."""
    window_s = stated.window_s or 0
    return write_statement(
        Statement(stated.rule, stated.version or 1, stated.subject, stated.params or {}, window_s, stated.grace_s)
    )


def write_statement(stated: Statement) -> str:
    """Return a text that states the same."""
    if stated.rule in _JOINTS:
        return _join(stated.rule, stated.params)
    grace = write_seconds(stated.grace_s) if stated.grace_s else None
    words: Mapping[str, object] = {"subject": stated.subject, **stated.params, "grace": grace}
    pairs = ";".join(f"{name}={_written(value)}" for name, value in words.items() if value is not None)
    return ":".join(filter(None, (stated.rule, write_seconds(stated.window_s), pairs)))


def _join(rule: str, params: Facts) -> str:
    tests = params.get("tests", ())
    return _JOINTS[rule].join(tests if isinstance(tests, tuple) else ())


def write_seconds(seconds: int) -> str:
    """Return a duration as it is written, in the largest unit in which it is whole."""
    unit = next(unit for unit, size_s in UNITS_S.items() if seconds % size_s == 0)
    return f"{seconds // UNITS_S[unit]}{unit}"


def _written(value: object) -> str:
    return "+".join(value) if isinstance(value, tuple) else str(value)


def _seconds(text: str) -> int:
    found = _duration.fullmatch(text)
    seconds = 0 if found is None else int(found[1]) * UNITS_S[found[2]]
    if not 0 < seconds <= WINDOW_S_MAX:
        raise _invalid(f"{text!r} is not a window.", "Write 14d, 24h or 30m, of at most ten years.")
    return seconds


def _param(rule: Rule, name: str, value: str) -> str | int | tuple[str, ...]:
    kind = rule.params.get(name)
    if kind is None:
        known = ", ".join([*rule.params, "subject", "grace"])
        raise _invalid(f"{rule.name} has no parameter {name!r}.", f"Parameters: {known}.")
    if kind == "names":
        return tuple(value.split("+"))
    if kind == "text":
        return value
    if not value.isdecimal() or len(value) > 9:
        raise _invalid(f"{name} {value!r} is not a whole number.", "Write one, such as 50.")
    return int(value)


def _subject(rule: Rule, stated: str | None, pr: int | None) -> str | None:
    """Return what a test is about: as it is stated, or by its decision; None: the change that names the decision."""
    if stated is None and "pr" in rule.subjects and pr is not None:
        stated = f"pr:{pr}"
    if stated is None and rule.subjects == ("commit",):
        return None
    kinds = " or ".join(f"{kind}:..." for kind in rule.subjects if kind) or "KIND:NAME"
    if stated is None:
        advice = f"State it: {rule.name}:subject={kinds.partition(' ')[0]}"
        raise _invalid(f"{rule.name} needs a subject, {kinds}.", f"{advice}, or the decision's pr.")
    kind, colon, name = stated.partition(":")
    if not colon or not name or (rule.subjects != ("",) and kind not in rule.subjects):
        raise _invalid(f"subject {stated!r} is not what {rule.name} is about.", f"Write {kinds}.")
    if kind == "commit" and _commit.fullmatch(name) is None:
        raise _invalid(f"commit {name!r} is not the id of one.", "Write 7 to 64 hex digits.")
    return stated


def _invalid(detail: str, advice: str) -> InvalidEvent:
    return InvalidEvent(detail, advice, field="test")
