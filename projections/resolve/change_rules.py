"""Rules about changes in git: the change landed, and was kept, or so many of its lines are alive."""

from projections.changes.change_index import FIXED, LANDED, LINES, REVERTED, FoundChange
from projections.changes.outcomes import DAY_S, SURVIVAL_DAYS
from projections.resolve.evidence import Evidence
from projections.resolve.states import RuleFinding, StatedTest
from projections.resolve.window import cover, unresolvable, waiting

PERCENT: int = 50
"""How many of the lines must be alive, where a test does not say it."""


def kept(test: StatedTest, evidence: Evidence) -> RuleFinding:
    """Return whether a change was neither reverted nor fixed within the window after it landed."""
    found = landed(test, evidence)
    return found if isinstance(found, RuleFinding) else kept_since(test, evidence, found, test.window_s)


def kept_since(test: StatedTest, evidence: Evidence, found: FoundChange, window_s: int) -> RuleFinding:
    """Return whether a change that landed was kept for so long."""
    change = found.change
    start_s = change.landed_s if test.start_s is None else test.start_s
    failures = [(change.reverted_s, REVERTED, "reverted")]
    if test.text("fixes", "any") != "ignore":
        failures.append((change.fixed_s, FIXED, "fixed"))
    times = [(at_s, kind, word) for at_s, kind, word in failures if at_s is not None and at_s <= start_s + window_s]
    failed_s, kind, word = min(times, default=(None, LANDED, "kept"))
    return cover(
        test,
        evidence.now_s,
        start_s=start_s,
        due_s=start_s + window_s,
        through_s=found.repository.through_s,
        failed_s=failed_s,
        value=f"{word}, as commit {found.commit[:12]}",
        evidence=(change.ids.get(kind, ""),),
        first_position=change.position,
    )


def lines_alive(test: StatedTest, evidence: Evidence) -> RuleFinding:
    """Return whether enough of the lines of a change exist at the end of the window."""
    found = landed(test, evidence)
    if isinstance(found, RuleFinding):
        return found
    change, days = found.change, test.window_s // DAY_S
    if days not in SURVIVAL_DAYS or test.window_s % DAY_S:
        return unresolvable(f"lines are counted after {', '.join(map(str, SURVIVAL_DAYS))} days only")
    if not change.born:
        return unresolvable("the change has no line of code")
    place, percent = SURVIVAL_DAYS.index(days), test.number("percent", PERCENT)
    due_s = change.landed_s + test.window_s
    is_known = len(change.alive) > place and found.repository.through_s >= due_s
    alive = change.alive[place] if is_known else 0
    return cover(
        test,
        evidence.now_s,
        start_s=change.landed_s,
        due_s=due_s,
        through_s=found.repository.through_s if is_known else 0,
        failed_s=due_s if is_known and 100 * alive < percent * change.born else None,
        value=f"{alive:,} of {change.born:,} lines are alive, as commit {found.commit[:12]}",
        evidence=(change.ids.get(LINES, ""),),
        first_position=change.position,
    )


def landed(test: StatedTest, evidence: Evidence) -> FoundChange | RuleFinding:
    """Return the change that landed the commit of a test, or the verdict where there is not one."""
    found = evidence.changes(test.subject or f"decision:{test.decision_id}")
    here = [one for one in found if not one.change.is_gone]
    if not here:
        if found:
            first = min(one.change.position for one in found)
            return unresolvable("the history was rewritten, and has the change no more", first)
        named = "names the decision" if test.subject is None else "has the commit"
        return waiting(f"no change that was read {named}")
    if len({one.commit for one in here}) > 1:
        return unresolvable("several changes have the commit, or name the decision")
    return min(here, key=lambda one: (one.change.landed_s, one.repository.repository))
