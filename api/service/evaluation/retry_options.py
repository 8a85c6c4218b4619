"""The options of an evaluation about errors, limits and costs: how a run goes on, not what it measures."""

from collections.abc import Sequence
from typing import Self

import msgspec

from api.service.evaluation.cost_budget import check_budget
from api.service.evaluation.retry_plan import parse_only
from instruments.routers.endpoint_limits import AGENT, BadRate, EndpointLimits, EndpointRate
from ledger.errors import InvalidQuery


class RetryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user gave about errors, limits and costs; None, or nothing, for an omitted option."""

    run_id: str | None = None
    """The id of a run whose errors are retried."""
    only: tuple[str, ...] = ()
    """The kinds of errors that are retried then; none for all."""
    retries: int | None = None
    """How often an attempt that ends in a transient error is tried again."""
    rate_limits: tuple[str, ...] = ()
    """Limits of the agent (`N/s`, `N/m`, `N/h`) and of endpoints (`HOST=N/m`)."""
    max_cost_usd: float | None = None
    """No new attempt is made once the recorded costs have reached this, US dollars."""

    @classmethod
    def parsed(
        cls,
        run_id: str | None,
        only: str | None,
        retries: int | None,
        rate_limits: Sequence[str] | None,
        max_cost_usd: float | None,
    ) -> Self:
        """Return the options of a command line. Errors: InvalidQuery."""
        return cls(
            run_id=run_id,
            only=parse_only(only),
            retries=retries,
            rate_limits=tuple(rate_limits or ()),
            max_cost_usd=max_cost_usd,
        )

    def check(self, agent: str | None) -> None:
        """Check the options; `agent` is the agent's command. Errors: InvalidQuery, naming the option."""
        if self.only and self.run_id is None:
            raise InvalidQuery("only", "selects errors to retry.", "Give the run with --retry-errors, or leave it out.")
        rates = self._rates()
        if AGENT in rates and agent is None:
            advice = "Name the endpoint, as in api.example.com=30/m, or leave it out."
            raise InvalidQuery("rate_limit", "is a limit of the agent, and none is asked.", advice)
        check_budget(self.max_cost_usd, agent)

    def build_limits(self) -> EndpointLimits:
        """Return the limits of the agent and of the endpoints. Errors: InvalidQuery."""
        return EndpointLimits(self._rates().values())

    def _rates(self) -> dict[str, EndpointRate]:
        rates: dict[str, EndpointRate] = {}
        for text in self.rate_limits:
            try:
                rate = EndpointRate.parse(text)
            except BadRate as error:
                raise InvalidQuery("rate_limit", str(error), "Write 30/m, or api.example.com=30/m.") from None
            if rate.endpoint in rates:
                raise InvalidQuery("rate_limit", f"{text!r} is the second limit of its endpoint.", "Give one.")
            rates[rate.endpoint] = rate
        return rates
