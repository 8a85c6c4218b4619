"""The options that name a judge."""

import os

import msgspec

from api.service.run_checks import check_time_limit
from instruments.evals.judging.judge import Judge
from instruments.evals.judging.judge_spec import parse_judge
from instruments.routers import BadRouter
from ledger.errors import InvalidQuery


class JudgeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a judge as the user gave them; None for an omitted one."""

    spec: str
    """`openai:BASE_URL` or `command:CMD`."""
    model: str | None = None
    key_env: str | None = None
    """The variable with the key."""
    name: str | None = None
    """The name of the judge as an agent, without `judge:`."""
    repeats: int = 1
    timeout_s: float = 120.0
    temperature: float | None = None

    def build(self) -> Judge:
        """Return the judge. Errors: InvalidQuery, naming the option."""
        check_time_limit("judge_timeout", self.timeout_s)
        try:
            return parse_judge(
                self.spec,
                environment=os.environ,
                model=self.model,
                key_env=self.key_env,
                name=self.name,
                repeats=self.repeats,
                timeout_s=self.timeout_s,
                temperature=self.temperature,
            )
        except BadRouter as error:
            raise InvalidQuery(error.field, error.detail, error.advice) from None
