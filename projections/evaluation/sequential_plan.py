"""Sequential evaluations: at how many attempts a run is looked at, and which part of the error rate each look gets.

A run of at most N attempts at each scenario is compared with its baseline after N/4, N/2 and N attempts, each rounded
up. The looks share alpha by SHARES, so that the probability that any of them calls an unchanged agent worse is at most
alpha, however the looks depend on each other (Bonferroni). Stopping early for another reason cannot raise it.
"""

from collections.abc import Mapping, Sequence

from projections.evaluation.view_types import ScenarioPasses

PLAN = "sequential"
"""The key in the `meta` of a run that records its looks: numbers of attempts, such as `3,6,12`."""

SHARES = (0.15, 0.25, 0.6)
"""The parts of alpha: the last look, with the most attempts, gets the most."""


HOPELESS = 0.5
"""From this p value on, a look after the first one ends the run: a loss is hardly found any more."""


def looks_of(attempts_max: int) -> tuple[int, ...]:
    """Return the numbers of attempts at which a run is looked at: ascending, the last one is `attempts_max`."""
    return tuple(sorted({-(-attempts_max // 4), -(-attempts_max // 2), attempts_max}))


def plan_text(looks: Sequence[int]) -> str:
    """Return the looks as they are recorded."""
    return ",".join(map(str, looks))


def level_at(looks: Sequence[int], attempts: int, alpha: float) -> float:
    """Return the level of the look at so many attempts: that of the first look with at least as many."""
    shares = SHARES[len(SHARES) - len(looks) :]
    place = next((number for number, look in enumerate(looks) if attempts <= look), len(looks) - 1)
    return alpha * shares[place] / sum(shares)


def level_of(meta: Mapping[str, str] | None, passes: Sequence[ScenarioPasses], alpha: float) -> float:
    """Return the level of a comparison: alpha, or that of its look if the candidate is a sequential run."""
    looks = looks_in(meta)
    if not looks:
        return alpha
    return level_at(looks, max((each.attempts_now for each in passes), default=0), alpha)


def looks_in(meta: Mapping[str, str] | None) -> tuple[int, ...]:
    """Return the looks that the `meta` of a run records; none if it records none, or something else."""
    text = (meta or {}).get(PLAN, "")
    numbers = [int(part) for part in text.split(",") if part.isascii() and part.isdigit() and len(part) < 5]
    valid = 0 < len(numbers) <= len(SHARES) and numbers == sorted({*numbers} - {0})
    return tuple(numbers) if valid and plan_text(numbers) == text else ()
