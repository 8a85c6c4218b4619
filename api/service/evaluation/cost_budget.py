"""The budget of a run: no new attempt is made once the recorded costs of all its tries have reached it."""

import math
from typing import NamedTuple

from api.service.evaluation.recorded_tries import RunCost
from events.evaluation import COST_USD_MAX
from ledger.errors import InvalidQuery

BUDGET_USD_MAX = COST_USD_MAX * 1_000
"""The largest budget, US dollars."""


class Halt(NamedTuple):
    """Why a run stops before its end, and the option that lets it go on beside --resume, after a space or a comma."""

    reason: str
    option: str = ""


class CostBudget:
    """A budget in US dollars."""

    def __init__(self, max_cost_usd: float) -> None:
        self._max_cost_usd = max_cost_usd

    def reason_to_stop(self, cost: RunCost) -> Halt | None:
        """Return why no further attempt may be made, in words; None if one may.

        An answer that states no cost is one: nobody knows then what was spent.
        """
        if cost.without_cost:
            answers = "1 answer states" if cost.without_cost == 1 else f"{cost.without_cost:,} answers state"
            return Halt(
                f"{answers} no cost, so that --max-cost cannot be kept: let the agent state usage.cost_usd, "
                "or give the prices of its tokens",
                " without --max-cost",
            )
        if cost.spent_usd < self._max_cost_usd:
            return None
        unknown = ""
        if cost.errors_without_cost:
            errors = "1 error states" if cost.errors_without_cost == 1 else f"{cost.errors_without_cost:,} errors state"
            unknown = f"; {errors} no cost"
        spent = f"the budget is spent: {dollars(cost.spent_usd)} of {dollars(self._max_cost_usd)}{unknown}"
        return Halt(spent, " --max-cost MORE")


def check_budget(max_cost_usd: float | None, agent: str | None) -> None:
    """Check the option. Errors: InvalidQuery."""
    if max_cost_usd is None:
        return
    if not (math.isfinite(max_cost_usd) and 0 < max_cost_usd <= BUDGET_USD_MAX):
        detail = f"is {max_cost_usd:.15g}, and not an amount above 0 and up to {BUDGET_USD_MAX:,.0f} US dollars."
        raise InvalidQuery("max_cost", detail, "Give US dollars, such as 2.50.")
    if agent is None:
        detail = "limits what the agent's answers cost, and no agent is asked."
        raise InvalidQuery("max_cost", detail, "Give its command with --agent, or leave the option out.")


def dollars(amount: float) -> str:
    """Write US dollars with two decimals, or as many as are needed."""
    text = f"{amount:.6f}".rstrip("0")
    return f"${text}{'0' * max(0, 2 - len(text.partition('.')[2]))}"
