"""Make a judge of what the caller names: an OpenAI-compatible endpoint with a model, or a command."""

import math
from collections.abc import Mapping

from events.errors import InvalidQuery
from events.limits import LABEL_CHARS_MAX
from instruments.evals.judging.client import JudgeClient
from instruments.evals.judging.judge import Judge, agent_of
from instruments.routers import parse_router
from instruments.routers.openai import OpenAIRouter

REPEATS_MAX = 15
"""Most times that a judge is asked about one answer."""

TEMPERATURE_MAX = 2.0


def parse_judge(
    spec: str,
    *,
    environment: Mapping[str, str],
    model: str | None = None,
    key_env: str | None = None,
    name: str | None = None,
    repeats: int = 1,
    timeout_s: float = 120.0,
    temperature: float | None = None,
) -> Judge:
    """Build a judge. Its name is by default that of its model, and the model of a command that of its program.

    Errors: InvalidQuery, naming the option.
    """
    try:
        router = parse_router(spec, environment=environment, model=model, key_env=key_env)
    except InvalidQuery as error:
        field = "judge" if error.field == "router" else f"judge_{error.field}"
        raise InvalidQuery(field, error.cause, error.advice.replace("--router", "--judge")) from None
    if isinstance(router, OpenAIRouter) and model is None:
        detail = "is missing: scores of different models are not comparable."
        raise InvalidQuery("judge_model", detail, "Name the model that the endpoint must use, with --judge-model.")
    if temperature is not None and not isinstance(router, OpenAIRouter):
        raise InvalidQuery("judge_temperature", "applies to openai: only.", "Set it in the command itself.")
    if temperature is not None and not (math.isfinite(temperature) and 0 <= temperature <= TEMPERATURE_MAX):
        raise InvalidQuery("judge_temperature", f"is {temperature:g}.", f"Give 0 to {TEMPERATURE_MAX:g}.")
    if not 1 <= repeats <= REPEATS_MAX:
        raise InvalidQuery("judge_repeats", f"is {repeats}.", f"Give 1 to {REPEATS_MAX}.")
    if name is not None and agent_of(name) != f"judge:{name}":
        detail = f"{name!r} cannot be the name of an agent after `judge:`."
        raise InvalidQuery("judge_name", detail, "Use 1..58 letters, digits and ._:@/+-.")
    judge = Judge(
        client=JudgeClient(router, temperature),
        agent=agent_of(name or router.model or router.name),
        model=router.model or router.name,
        repeats=repeats,
        timeout_s=timeout_s,
        named=name is not None,
        temperature=temperature,
    )
    if len(judge.scorer_version) > LABEL_CHARS_MAX:
        raise InvalidQuery("judge_model", "is too long.", "Use a shorter name.")
    return judge
