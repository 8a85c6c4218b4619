"""Check the options of an evaluation, from the command line or the pytest plugin, and make of them what a run needs."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import structs

from api.service.evaluation.cost_budget import check_budget
from api.service.evaluation.options import EvalOptions, JudgeOptions
from api.service.evaluation.retry_plan import RETRIES, parse_only
from api.service.evaluation.run_operations import check_id
from api.service.evaluation.sequential_looks import SEQUENTIAL_BASELINE
from api.service.run_checks import check_time_limit
from events.evaluation import EvalStarted
from events.limits import LABEL_CHARS_MAX
from instruments.evals.agent import Agent
from instruments.evals.judging.judge import SCORER_ID as JUDGE_ID
from instruments.evals.judging.judge import Judge
from instruments.evals.judging.judge_spec import parse_judge
from instruments.evals.scenario import Scenario
from instruments.evals.scoring.scorer_version import SCORER_ID, scorer_version
from instruments.evals.scoring.semantic_matcher import SemanticMatcher
from instruments.evals.suite.loader import Suite
from instruments.routers.endpoint_limits import AGENT, EndpointLimits, EndpointRate
from instruments.sandbox.network_guard import Network, NetworkUnavailable, check_network
from ledger.errors import InvalidQuery
from projections.evaluation.sequential_plan import PLAN, looks_of, plan_text

WITHOUT_NAMESPACE = "Without it an agent can reach every network that this machine reaches."

CAPTURED = "captured"
"""The default name of the agent if captured answers are scored."""

LLM = "enable_llm"
"""The key in the `meta` of a run that records an override of its scenarios' `test_config`."""

CLAIMED_MODEL = "claimed_model"
"""The key in the `meta` of a run that records the model which the caller claims for all of its answers."""

NETWORK = "replay_network"
"""The key in the `meta` of a run that records which network its agent had, if not that of this machine."""

ALLOW = "allow"
"""The network of this machine."""

RESERVED_META = {
    NETWORK: "--network",
    LLM: "--enable-llm",
    CLAIMED_MODEL: "--model",
    PLAN: "--sequential",
    SEQUENTIAL_BASELINE: "--sequential",
    RETRIES: "--retries",
}
"""The keys of `meta` that options set."""


class ScorerName(NamedTuple):
    """A scorer and its version. Scores are comparable only if both are the same."""

    id: str
    version: str

    @classmethod
    def of(cls, judge: Judge | None, scenarios: Sequence[Scenario], matcher: SemanticMatcher | None) -> "ScorerName":
        """Return the name of a judge as the scorer; without one, that of the patterns of these scenarios."""
        return cls(SCORER_ID, scorer_version(scenarios, matcher)) if judge is None else cls.of_judge(judge)

    @classmethod
    def of_judge(cls, judge: Judge) -> "ScorerName":
        """Return the name of a judge as the scorer."""
        return cls(JUDGE_ID, judge.scorer_version)


def parse_meta(options: EvalOptions) -> dict[str, str]:
    """Return the pairs of `meta` that the user gave. Errors: InvalidQuery."""
    parsed: dict[str, str] = {}
    for pair in options.meta:
        key, equals, value = pair.partition("=")
        if not key or not equals or key in parsed:
            detail = f"{pair!r} is not KEY=VALUE, or its key was given twice."
            raise InvalidQuery("meta", detail, "Write --meta commit=3f2a9c1.")
        parsed[key] = value
    return parsed


def _build_meta(options: EvalOptions) -> dict[str, str] | None:
    """Return the `meta` of the run's start."""
    meta = parse_meta(options)
    if options.enable_llm is not None:
        meta[LLM] = str(options.enable_llm).lower()
    if options.network not in (None, ALLOW):
        meta[NETWORK] = str(options.network)
    if options.model is not None:
        meta[CLAIMED_MODEL] = options.model
    if options.sequential is not None:
        meta |= {PLAN: plan_text(looks_of(options.attempts or 1)), SEQUENTIAL_BASELINE: options.sequential}
    if options.retries:
        meta[RETRIES] = str(options.retries)
    return meta or None


def build_start(
    options: EvalOptions, suite: Suite, agent: Agent | None, scenarios: int, scorer: ScorerName
) -> EvalStarted:
    """Return the start event of a run; `scenarios` is how many scenarios of the suite it has."""
    return EvalStarted(
        run_id=options.run_id,
        suite=options.suite or suite.name,
        agent=options.agent_name or (CAPTURED if agent is None else agent.name),
        agent_version=options.agent_version,
        answers="captured" if agent is None else "command",
        scenarios=scenarios,
        attempts=options.attempts or 1,
        suite_digest=suite.digest,
        scorer_id=scorer.id,
        scorer_version=scorer.version,
        selection=selection_of(options),
        meta=_build_meta(options),
    )


def check_options(options: EvalOptions) -> Agent | None:
    """Check the options; return the agent, or None without one. Errors: InvalidQuery."""
    check_time_limit("timeout", options.timeout_s)
    check_labels(
        name=options.suite,
        agent_name=options.agent_name,
        agent_version=options.agent_version,
        model=options.model,
    )
    _check_suite_and_run(options)
    if parse_only(options.only) and options.retry_errors is None:
        raise InvalidQuery("only", "selects errors to retry.", "Give the run with --retry-errors, or leave it out.")
    rates = _rates(options)
    if AGENT in rates and options.agent is None:
        advice = "Name the endpoint, as in api.example.com=30/m, or leave it out."
        raise InvalidQuery("rate_limit", "is a limit of the agent, and none is asked.", advice)
    check_budget(options.max_cost, options.agent)
    meta = parse_meta(options)
    for key, option in RESERVED_META.items():
        if key in meta:
            raise InvalidQuery("meta", f"{key} is set by {option} itself.", "Leave it out.")
    if options.enable_llm is not None and options.agent is None:
        raise InvalidQuery(LLM, "is an option of an agent, and none is asked.", "Give its command with --agent.")
    network = _check_network(options)
    if options.agent is None:
        return None
    return Agent(options.agent, timeout_s=options.timeout_s, enable_llm=options.enable_llm, network=network)


def check_retries(options: EvalOptions, matcher: SemanticMatcher | None) -> None:
    """Check that a run with retries asks anyone who may not answer. Errors: InvalidQuery."""
    if options.retries and options.agent is None and options.judge.spec is None and matcher is None:
        detail = "retries an agent, a judge or an embeddings endpoint, and none is asked."
        raise InvalidQuery("retries", detail, "Name one with --agent or --judge, or leave the option out.")


def _check_suite_and_run(options: EvalOptions) -> None:
    """Check that one suite is named, and one run. Errors: InvalidQuery."""
    if options.fixtures is None and options.suite_of is None:
        raise InvalidQuery("FIXTURES", "no suite is named.", "Name a folder of scenarios, or --suite-of RUN.")
    if options.fixtures is not None and options.suite_of is not None:
        raise InvalidQuery("suite_of", "is given beside a folder.", "Name one of them.")
    if options.run_id is not None:
        check_id(options.run_id)
    if options.resume is not None and options.retry_errors is not None:
        raise InvalidQuery("retry_errors", "cannot be together with --resume.", "Give one: --resume retries no error.")
    if options.run_id is not None and (options.resume or options.retry_errors) is not None:
        raise InvalidQuery("run", "is fixed by the run that is resumed.", "Leave it out, or start another run.")


def _check_network(options: EvalOptions) -> Network | None:
    """Return the network of the agent; None for that of this machine. Errors: InvalidQuery."""
    if options.network is None or options.network == "allow":
        return None
    if options.agent is None:
        raise InvalidQuery("network", "is an option of an agent, and none is asked.", "Give its command with --agent.")
    try:
        check_network()
    except NetworkUnavailable as error:
        advice = (
            "Run as root or as a user who may make user namespaces (sysctl user.max_user_namespaces, and "
            f"kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu), or leave it out. {WITHOUT_NAMESPACE}"
        )
        raise InvalidQuery("network", f"cannot be {options.network} here: {error}.", advice) from None
    return options.network


def selection_of(options: EvalOptions) -> str | None:
    """Return the expression that selects scenarios; None for all."""
    return options.selection if options.selection and options.selection.strip() else None


def build_limits(options: EvalOptions) -> EndpointLimits:
    """Return the limits of the agent and of the endpoints. Errors: InvalidQuery."""
    return EndpointLimits(_rates(options).values())


def _rates(options: EvalOptions) -> dict[str, EndpointRate]:
    rates: dict[str, EndpointRate] = {}
    for text in options.rate_limit:
        rate = EndpointRate.parse(text)
        if rate.endpoint in rates:
            raise InvalidQuery("rate_limit", f"{text!r} is the second limit of its endpoint.", "Give one.")
        rates[rate.endpoint] = rate
    return rates


def find_judge(options: JudgeOptions) -> Judge | None:
    """Return the judge; None if none is named. Errors: InvalidQuery, also if other options of a judge are given."""
    given = {name: value for name, value in structs.asdict(options).items() if value is not None}
    if given and options.spec is None:
        detail = "is an option of a judge, and none is named."
        raise InvalidQuery(f"judge_{next(iter(given)).removesuffix('_s')}", detail, "Name it with --judge.")
    return build_judge(options) if given else None


def build_judge(options: JudgeOptions) -> Judge:
    """Return the judge that is named. Errors: InvalidQuery, naming the option."""
    given = {name: value for name, value in structs.asdict(options).items() if value is not None}
    if options.timeout_s is not None:
        check_time_limit("judge_timeout", options.timeout_s)
    return parse_judge(environment=os.environ, **given)


def check_labels(**labels: str | None) -> None:
    """Check names by their options; None is an omitted one. Errors: InvalidQuery, naming the option."""
    for field, label in labels.items():
        if label is not None and not (0 < len(label) <= LABEL_CHARS_MAX and label.isprintable()):
            raise InvalidQuery(
                field, "is empty, too long, or not printable.", f"Give 1 to {LABEL_CHARS_MAX} characters."
            )
