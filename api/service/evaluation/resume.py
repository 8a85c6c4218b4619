"""Check that an interrupted evaluation may continue with the given options: they must match those it began with."""

from collections.abc import Sequence

from api.service.evaluation.options import LLM, EvalOptions
from api.service.evaluation.runs import EvalRun
from api.text import many
from instruments.evals import Scenario
from instruments.evals.scoring.scorer import SCORER_ID, SCORER_VERSION
from ledger.errors import InvalidQuery

CHANGED_SHOWN = 5


def check_settings(run: EvalRun, options: EvalOptions, command_name: str | None) -> None:
    """Refuse options that differ from those the run began with; `command_name` names the agent's command, if any.

    Errors: InvalidQuery, naming the option.
    """
    started, run_id = run.started, run.run_id
    meta = started.meta or {}
    pairs = (
        ("name", options.suite, started.suite),
        ("-k", options.selection, started.selection),
        ("attempts", options.attempts, started.attempts),
        ("agent_name", options.agent_name, started.agent),
        ("agent_version", options.agent_version, started.agent_version),
        (LLM, None if options.enable_llm is None else str(options.enable_llm).lower(), meta.get(LLM)),
        *(
            ("meta", f"{key}={value}", f"{key}={meta[key]}" if key in meta else None)
            for key, value in options.meta.items()
        ),
    )
    for option, typed, began in pairs:
        if typed is not None and typed != began:
            raise _mismatch_error(
                option, f"run {run_id} began with {_format_value(began)}, not with {_format_value(typed)}"
            )
    if (command_name is not None) != (started.answers == "command"):
        graded_answers = f"the answers of {started.agent}" if started.answers == "command" else "the captured answers"
        raise InvalidQuery(
            "agent", f"run {run_id} scores {graded_answers}.", "Give the agent's command as it was given then."
        )
    named = started.agent or ""
    if command_name is not None and named.startswith("command:") and named != command_name:
        raise _mismatch_error("agent", f"run {run_id} asks {named}, not {command_name}")
    if (started.scorer_id, started.scorer_version) != (SCORER_ID, SCORER_VERSION):
        was = f"{started.scorer_id}@{started.scorer_version}"
        raise _mismatch_error(
            "resume", f"run {run_id} was scored by {was}, and {SCORER_ID}@{SCORER_VERSION} scores now"
        )


def check_scenarios(run: EvalRun, chosen: Sequence[Scenario]) -> None:
    """Refuse scenarios that differ from those the run began with. Errors: InvalidQuery."""
    gone = sorted({scenario_id for scenario_id, _ in run.scored} - {scenario.id for scenario in chosen})
    if gone:
        raise _mismatch_error("fixtures", f"run {run.run_id} scored {_list_names(gone)}, which is not there now")
    planned = run.started.scenarios
    if planned is not None and planned != len(chosen):
        raise _mismatch_error(
            "fixtures", f"run {run.run_id} began with {many(planned, 'scenario')}, and there are {len(chosen)} now"
        )


def describe_changes(run: EvalRun, chosen: Sequence[Scenario], digest: str) -> str | None:
    """Return a warning if fixtures differ from those the run began with; None if they do not."""
    if digest == run.started.suite_digest:
        return None
    now = {scenario.id: scenario.fixture_digest for scenario in chosen}
    changed = sorted({scenario_id for (scenario_id, _), fixture in run.scored.items() if fixture != now[scenario_id]})
    if not changed:
        return "the fixtures have changed since the run began; none of those that are scored has."
    return f"changed since scored: {_list_names(changed)}. What was scored stays, and is not scored again."


def _list_names(names: Sequence[str]) -> str:
    more = len(names) - CHANGED_SHOWN
    return f"{', '.join(names[:CHANGED_SHOWN])}{f' and {more} more' if more > 0 else ''}"


def _format_value(value: object) -> str:
    return "none" if value is None else repr(value)


def _mismatch_error(option: str, what: str) -> InvalidQuery:
    return InvalidQuery(
        option, f"{what}; nothing was written.", "Give the value it began with, or leave --resume out for another run."
    )
