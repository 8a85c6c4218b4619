"""The options of an evaluation, for the command line, the pytest plugin and resumed runs: declared and checked here."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast, get_args

import msgspec

from api.reports import ReportFiles
from api.service.evaluation.judge_options import JudgeOptions
from api.service.evaluation.retry_options import RetryOptions
from api.service.evaluation.retry_plan import RETRIES
from api.service.evaluation.run_operations import check_id
from api.service.evaluation.sequential_looks import SEQUENTIAL_BASELINE
from api.service.run_checks import check_time_limit
from events.evaluation import EvalStarted
from events.limits import LABEL_CHARS_MAX
from instruments.evals import Scenario
from instruments.evals.agent import Agent
from instruments.evals.judging.judge import SCORER_ID as JUDGE_ID
from instruments.evals.judging.judge import Judge
from instruments.evals.scoring.scorer_version import SCORER_ID, scorer_version
from instruments.evals.scoring.semantic_matcher import SemanticMatcher
from instruments.evals.suite.loader import Suite
from instruments.routers.bounded_process import BadCommand
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


class EvalOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options that the user gave; None, or an empty `meta`, for an omitted one.

    Without an agent, captured answers are scored.
    The options from `suite` to `sequential` define a run: with `resume` they must match those that the run began with.
    """

    fixtures: Path | None = None
    """The folder of the suite; None: `suite_of` names it."""
    suite_of: str | None = None
    """A run or a suite version whose files the ledger has."""
    agent: str | None = None
    """The command of the agent."""
    suite: str | None = None
    selection: str | None = None
    attempts: int | None = None
    agent_name: str | None = None
    agent_version: str | None = None
    model: str | None = None
    """The language model that answers, as the caller claims."""
    enable_llm: bool | None = None
    network: str | None = None
    """`none` or `loopback`: the agent runs in a network namespace; `allow` or None: it does not."""
    meta: Mapping[str, str] = {}
    sequential: str | None = None
    """The id of the run with which this one is compared after some attempts, to end early."""
    jobs: int = 1
    timeout_s: float = 600.0
    run_id: str | None = None
    resume: str | None = None
    retry: RetryOptions = RetryOptions()
    """What happens after errors, and the limits of rates and costs."""
    baselines: bool = True
    judge: JudgeOptions | None = None
    """The judge that scores the answers; None: patterns do."""
    prices: Path | None = None
    """A file with the prices of models, for answers that state their tokens and no cost."""
    files: ReportFiles = ReportFiles()
    keep_files: bool = True
    """Whether the files of the suite are stored as evidence."""
    """Report files to write. If there are any, the report data include the answers and the trend over versions."""

    def build_meta(self) -> dict[str, str] | None:
        """Return the `meta` of the run's start."""
        meta = dict(self.meta)
        if self.enable_llm is not None:
            meta[LLM] = str(self.enable_llm).lower()
        if self.network not in (None, ALLOW):
            meta[NETWORK] = str(self.network)
        if self.model is not None:
            meta[CLAIMED_MODEL] = self.model
        if self.sequential is not None:
            meta |= {PLAN: plan_text(looks_of(self.attempts or 1)), SEQUENTIAL_BASELINE: self.sequential}
        if self.retry.retries:
            meta[RETRIES] = str(self.retry.retries)
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
        selection=options.selection,
        meta=options.build_meta(),
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
    options.retry.check(options.agent)
    for key, option in RESERVED_META.items():
        if key in options.meta:
            raise InvalidQuery("meta", f"{key} is set by {option} itself.", "Leave it out.")
    if options.enable_llm is not None and options.agent is None:
        raise InvalidQuery(LLM, "is an option of an agent, and none is asked.", "Give its command with --agent.")
    network = _check_network(options)
    if options.agent is None:
        return None
    try:
        return Agent(options.agent, timeout_s=options.timeout_s, enable_llm=options.enable_llm, network=network)
    except BadCommand as error:
        raise InvalidQuery("agent", error.detail, error.advice) from None


def _check_suite_and_run(options: EvalOptions) -> None:
    """Check that one suite is named, and one run. Errors: InvalidQuery."""
    if options.fixtures is None and options.suite_of is None:
        raise InvalidQuery("FIXTURES", "no suite is named.", "Name a folder of scenarios, or --suite-of RUN.")
    if options.fixtures is not None and options.suite_of is not None:
        raise InvalidQuery("suite_of", "is given beside a folder.", "Name one of them.")
    if options.run_id is not None:
        check_id(options.run_id)
    if options.resume is not None and options.retry.run_id is not None:
        raise InvalidQuery("retry_errors", "cannot be together with --resume.", "Give one: --resume retries no error.")
    if options.run_id is not None and (options.resume or options.retry.run_id) is not None:
        raise InvalidQuery("run", "is fixed by the run that is resumed.", "Leave it out, or start another run.")


def _check_network(options: EvalOptions) -> Network | None:
    """Return the network of the agent; None for that of this machine. Errors: InvalidQuery."""
    if options.network in (None, ALLOW):
        return None
    if options.network not in get_args(Network):
        raise InvalidQuery("network", f"{options.network!r} is unknown.", f"Write none, loopback or {ALLOW}.")
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
    return cast("Network", options.network)


def check_labels(**labels: str | None) -> None:
    """Check names by their options; None is an omitted one. Errors: InvalidQuery, naming the option."""
    for field, label in labels.items():
        if label is not None and not (0 < len(label) <= LABEL_CHARS_MAX and label.isprintable()):
            raise InvalidQuery(
                field, "is empty, too long, or not printable.", f"Give 1 to {LABEL_CHARS_MAX} characters."
            )
