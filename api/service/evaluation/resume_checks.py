"""Check that the options and scenarios of a resumed evaluation match those that it began with."""

from collections.abc import Sequence

from api.service.evaluation.option_checks import (
    ALLOW,
    CLAIMED_MODEL,
    LLM,
    NETWORK,
    ScorerName,
    parse_meta,
    selection_of,
)
from api.service.evaluation.options import EvalOptions
from api.service.evaluation.run_operations import EvalRun
from api.service.evaluation.sequential_looks import SEQUENTIAL_BASELINE
from api.text_format import pluralize
from instruments.evals.judging.judge import SCORER_ID as JUDGE_ID
from instruments.evals.scenario import Scenario
from ledger.errors import InvalidQuery

NAMES_SHOWN = 5
"""The most scenarios that a message names."""


def check_settings(run: EvalRun, options: EvalOptions, command_name: str | None, scorer: ScorerName) -> None:
    """Refuse options that differ from those of the run's start.

    `command_name` is the name of the agent's command, `scorer` the scorer of this process.
    Errors: InvalidQuery, naming the option.
    """
    started, run_id = run.started, run.run_id
    meta = started.meta or {}
    pairs = (
        ("name", options.suite, started.suite),
        ("-k", selection_of(options), started.selection),
        ("attempts", options.attempts, started.attempts),
        ("agent_name", options.agent_name, started.agent),
        ("agent_version", options.agent_version, started.agent_version),
        ("model", options.model, meta.get(CLAIMED_MODEL)),
        ("sequential", options.sequential, meta.get(SEQUENTIAL_BASELINE)),
        ("network", options.network or ALLOW, meta.get(NETWORK, ALLOW)),
        (LLM, None if options.enable_llm is None else str(options.enable_llm).lower(), meta.get(LLM)),
        *(
            ("meta", f"{key}={value}", f"{key}={meta[key]}" if key in meta else None)
            for key, value in parse_meta(options).items()
        ),
    )
    for option, given, recorded in pairs:
        if given is not None and given != recorded:
            raise _mismatch_error(
                option, f"run {run_id} began with {_format_value(recorded)}, not with {_format_value(given)}"
            )
    if (command_name is not None) != (started.answers == "command"):
        answers = f"the answers of {started.agent}" if started.answers == "command" else "the captured answers"
        raise InvalidQuery("agent", f"run {run_id} scores {answers}.", "Give the agent's command as it was given then.")
    agent = started.agent or ""
    if command_name is not None and agent.startswith("command:") and agent != command_name:
        raise _mismatch_error("agent", f"run {run_id} asks {agent}, not {command_name}")
    check_scorer(run, scorer)


def check_scorer(run: EvalRun, scorer: ScorerName) -> None:
    """Refuse another scorer than that of the run's start. Errors: InvalidQuery."""
    began = ScorerName(run.started.scorer_id or "", run.started.scorer_version or "")
    if began != scorer:
        raise _mismatch_error(
            "judge" if JUDGE_ID in (began.id, scorer.id) else "resume",
            f"run {run.run_id} was scored by {began.id}@{began.version}, and {scorer.id}@{scorer.version} scores now",
        )


def check_scenarios(run: EvalRun, chosen: Sequence[Scenario]) -> None:
    """Refuse scenarios if scored ones are missing, or if their number has changed. Errors: InvalidQuery."""
    missing = sorted({scenario_id for scenario_id, _ in run.scored} - {scenario.id for scenario in chosen})
    if missing:
        raise _mismatch_error("fixtures", f"run {run.run_id} scored {_list_names(missing)}, which is not there now")
    planned = run.started.scenarios
    if planned is not None and planned != len(chosen):
        raise _mismatch_error(
            "fixtures",
            f"run {run.run_id} began with {pluralize(planned, 'scenario')}, and there are {len(chosen)} now",
        )


def check_unchanged(run: EvalRun, chosen: Sequence[Scenario]) -> None:
    """Refuse scenarios that have changed since they were scored: a retry would answer another question.

    Errors: InvalidQuery.
    """
    changed = _changed_scenarios(run, chosen)
    if changed:
        raise InvalidQuery(
            "fixtures",
            f"run {run.run_id} scored {_list_names(changed)}, which changed since then.",
            "Give the scenarios as they were, or start another run.",
            written=False,
        )


def check_suite(run: EvalRun, chosen: Sequence[Scenario], digest: str) -> None:
    """Refuse another version of the suite: a run states one, by which its scores are compared. Errors: InvalidQuery."""
    if run.started.suite_digest in (None, digest):
        return
    changed = _changed_scenarios(run, chosen)
    which = f", {_list_names(changed)} since they were scored" if changed else ", none of those that were scored"
    raise InvalidQuery(
        "fixtures",
        f"have changed since run {run.run_id} began{which}.",
        f"Give them as they were: --suite-of {run.run_id} if the run kept its files. Or start another run.",
        written=False,
    )


def _changed_scenarios(run: EvalRun, chosen: Sequence[Scenario]) -> list[str]:
    """Return the scenarios that differ from those that were scored."""
    digests = {scenario.id: scenario.fixture_digest for scenario in chosen}
    return sorted({name for (name, _), last in run.scored.items() if last.fixture_digest != digests[name]})


def _list_names(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return f"{', '.join(names[:NAMES_SHOWN])}{f' and {more} more' if more > 0 else ''}"


def _format_value(value: object) -> str:
    return "none" if value is None else repr(value)


def _mismatch_error(option: str, fault: str) -> InvalidQuery:
    return InvalidQuery(
        option, f"{fault}.", "Give the value it began with, or leave --resume out for another run.", written=False
    )
