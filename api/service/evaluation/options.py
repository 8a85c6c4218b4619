"""The options of an evaluation, for the command line, the pytest plugin and resumed runs: declared and checked here."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from api.reports import ReportFiles
from api.service.evaluation.run_operations import check_id
from api.service.run_checks import check_time_limit
from events.evaluation import EvalStarted
from events.limits import LABEL_CHARS_MAX
from instruments.evals.agent import Agent
from instruments.evals.scoring.scorer import SCORER_ID, SCORER_VERSION
from instruments.evals.suite.loader import Suite
from instruments.routers.bounded_process import BadCommand
from ledger.errors import InvalidQuery

CAPTURED = "captured"
"""The default name of the agent if captured answers are scored."""

LLM = "enable_llm"
"""The key in the `meta` of a run that records an override of its scenarios' `test_config`."""

CLAIMED_MODEL = "claimed_model"
"""The key in the `meta` of a run that records the model which the caller claims for all of its answers."""

RESERVED_META = {LLM: "--enable-llm", CLAIMED_MODEL: "--model"}
"""The keys of `meta` that options set."""


class EvalOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options that the user gave; None, or an empty `meta`, for an omitted one.

    Without an agent, captured answers are scored.
    The options from `suite` to `meta` define a run: with `resume` they must match those that the run began with.
    """

    fixtures: Path
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
    meta: Mapping[str, str] = {}
    jobs: int = 1
    timeout_s: float = 600.0
    run_id: str | None = None
    resume: str | None = None
    baselines: bool = True
    files: ReportFiles = ReportFiles()
    """Report files to write. If there are any, the report data include the answers and the trend over versions."""

    def build_meta(self) -> dict[str, str] | None:
        """Return the `meta` of the run's start."""
        meta = dict(self.meta)
        if self.enable_llm is not None:
            meta[LLM] = str(self.enable_llm).lower()
        if self.model is not None:
            meta[CLAIMED_MODEL] = self.model
        return meta or None


def build_start(options: EvalOptions, suite: Suite, agent: Agent | None, scenarios: int) -> EvalStarted:
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
        scorer_id=SCORER_ID,
        scorer_version=SCORER_VERSION,
        selection=options.selection,
        meta=options.build_meta(),
    )


def check_options(options: EvalOptions) -> Agent | None:
    """Check the options; return the agent, or None without one. Errors: InvalidQuery."""
    check_time_limit("timeout", options.timeout_s)
    labels = (
        ("name", options.suite),
        ("agent_name", options.agent_name),
        ("agent_version", options.agent_version),
        ("model", options.model),
    )
    for field, label in labels:
        if label is not None and not (0 < len(label) <= LABEL_CHARS_MAX and label.isprintable()):
            raise InvalidQuery(
                field, "is empty, too long, or not printable.", f"Give 1 to {LABEL_CHARS_MAX} characters."
            )
    if options.run_id is not None:
        check_id(options.run_id)
    if options.run_id is not None and options.resume is not None:
        raise InvalidQuery("run", "is fixed by the run that is resumed.", "Leave it out, or start another run.")
    for key, option in RESERVED_META.items():
        if key in options.meta:
            raise InvalidQuery("meta", f"{key} is set by {option} itself.", "Leave it out.")
    if options.enable_llm is not None and options.agent is None:
        raise InvalidQuery(LLM, "is an option of an agent, and none is asked.", "Give its command with --agent.")
    if options.agent is None:
        return None
    try:
        return Agent(options.agent, timeout_s=options.timeout_s, enable_llm=options.enable_llm)
    except BadCommand as error:
        raise InvalidQuery("agent", error.detail, error.advice) from None
