"""The verdict of a test with a window, from what happened in it and through when that is known."""

from datetime import UTC, datetime

from msgspec import structs

from projections.resolve.states import RuleFinding, State, StatedTest


def cover(
    test: StatedTest,
    now_s: int,
    *,
    start_s: int,
    due_s: int,
    through_s: int,
    failed_s: int | None,
    value: str,
    evidence: tuple[str, ...],
    first_position: int | None,
) -> RuleFinding:
    """Return the verdict of a test that fails with an event, and succeeds if there is none until its end.

    It is final when what was read covers the window, also if it failed before: so when a decision enters a figure does
    not depend on its outcome. `failed_s` is when it failed; `through_s` through when events are known.
    """
    named = tuple(filter(None, evidence))
    moment = datetime.fromtimestamp(due_s if failed_s is None else failed_s, UTC)
    found = RuleFinding(
        state="running",
        value=f"{value} ({moment:%Y-%m-%d %H:%M} UTC)",
        start_s=start_s,
        due_s=due_s,
        basis="deadline" if failed_s is None else "event",
        evidence=named,
        first_position=first_position,
    )
    if through_s >= due_s:
        return _in_state(found, "succeeded" if failed_s is None else "failed")
    if failed_s is not None:
        return _in_state(found, "failed_early")
    if now_s > due_s + test.grace_s:
        return RuleFinding(
            state="overdue", value=f"what was observed ends before the window does: {_through(through_s)}",
            start_s=start_s, due_s=due_s, first_position=first_position,
        )  # fmt: skip
    return RuleFinding(
        state="running", value=_through(through_s), start_s=start_s, due_s=due_s, first_position=first_position
    )


def waiting(value: str) -> RuleFinding:
    """Return that it is not known when the window begins."""
    return RuleFinding(state="waiting", value=value)


def unresolvable(value: str, first_position: int | None = None) -> RuleFinding:
    """Return that no outcome can follow."""
    return RuleFinding(state="unresolvable", value=value, first_position=first_position)


def _in_state(found: RuleFinding, state: State) -> RuleFinding:
    return structs.replace(found, state=state)


def _through(through_s: int) -> str:
    if not through_s:
        return "nothing was read yet"
    return f"seen through {datetime.fromtimestamp(through_s, UTC):%Y-%m-%d %H:%M} UTC"
