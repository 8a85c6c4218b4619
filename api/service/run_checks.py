"""Checks and errors that discovery runs and evaluation runs share."""

from ledger.errors import InvalidQuery, LifecycleViolation

TIME_S_MAX = 7 * 86_400.0
"""The largest accepted time limit: 7 days, longer than any run."""


def check_time_limit(option: str, limit_s: float) -> None:
    """Check a time limit in seconds: above 0, not NaN, at most TIME_S_MAX. Errors: InvalidQuery."""
    if not 0 < limit_s <= TIME_S_MAX:
        raise InvalidQuery(option, f"{limit_s:g} is not a time.", f"Give seconds, up to {TIME_S_MAX:,.0f}.")


def run_exists_error(kind: str, run_id: str) -> LifecycleViolation:
    """Return the error for a new run with the id of an existing run; `kind` is that of its stream."""
    return LifecycleViolation(
        f"run {run_id} is there already.",
        f"--resume {run_id} continues it if it has not ended; give another id for another run.",
        subject=f"{kind}/{run_id}",
        index=0,
    )
