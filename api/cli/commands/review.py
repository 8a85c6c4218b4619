"""review: record how a decision turned out, or name a random set of decisions to review."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, source_of_agent, verb
from api.cli.open_ledger import ask, show
from api.cli.options import (
    OUTCOMES,
    AsOf,
    Category,
    EventIdOption,
    Feature,
    Project,
    Stakes,
    argument,
    choice,
    given,
    option,
)
from api.cli.output import print_note
from ledger.errors import InvalidQuery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from api.service.decision_writer import RecordedReview

PANEL = "Draw a sample to review"

Reviewer = Annotated[str | None, option("The reviewer; without it the token's agent, or TALLYSTICK_AGENT.", "NAME")]


@verb(server=True)
def review(
    target: LedgerTarget,
    decision: Annotated[
        str | None, argument("The decision's id, or an unambiguous beginning of it.", "DECISION")
    ] = None,
    *,
    outcome: Annotated[str | None, choice("How it turned out.", OUTCOMES)] = None,
    result: Annotated[str | None, option("What happened.", "TEXT")] = None,
    lessons: Annotated[str | None, option("What was learned.", "TEXT")] = None,
    notes: Annotated[str | None, option("Anything else.", "TEXT")] = None,
    by: Reviewer = None,
    agent: Annotated[
        str | None, option("The same as --by. With --sample: only decisions of this agent.", "NAME")
    ] = None,
    event_id: EventIdOption = None,
    sample: Annotated[
        str | None,
        option("Review nothing: name this many unreviewed decisions, drawn at random.", rich_help_panel=PANEL),
    ] = None,
    seed: Annotated[str | None, option("Draw with this seed. Without it, a new one.", rich_help_panel=PANEL)] = None,
    drawn_at: Annotated[
        str | None,
        option("Draw from the decisions that were unreviewed at this position.", "POSITION", rich_help_panel=PANEL),
    ] = None,
    resolved_by: Annotated[
        str | None,
        option("Draw from the decisions that this rule reviewed, to check it.", "RULE", rich_help_panel=PANEL),
    ] = None,
    category: Category = None,
    stakes: Stakes = None,
    project: Project = None,
    feature: Feature = None,
    as_of: AsOf = None,
) -> None:
    """Record how a decision turned out.

    Prints the id of the decision and the position of the review. A later review supersedes an earlier one, which stays
    in the history.

    With --sample, prints unreviewed decisions drawn at random, and the command that reviews each. Their reviews tell
    the gap of all decisions. The same --seed and --drawn-at name the same set; once it is reviewed, the gap is printed.
    With --resolved-by, they are decisions that a rule of tests reviewed: their reviews tell how often it is wrong.

    Example: tallystick review 3f2a9c1e --outcome success --result "Latency halved" --lessons "Measure idle time first"

    Example: tallystick review --sample 20 --agent claude
    """
    from api.cli.payload import convert_options, submit
    from api.service.store import REVIEW
    from events.decision import DecisionReviewed

    own = {"decision": decision, "outcome": outcome, "result": result, "lessons": lessons, "notes": notes}
    drawing = given(
        size=sample, seed=seed, drawn_at=drawn_at, category=category, stakes=stakes, project=project, feature=feature,
        as_of=as_of,
    )  # fmt: skip
    if sample is not None:
        _refuse("sample", {**own, "by": by, "event_id": event_id})
        drawing |= given(agent=agent, rule=resolved_by)
        (_print_sample if resolved_by is None else _print_audit)(target, drawing)
        return
    _refuse("decision", {**drawing, "resolved_by": resolved_by})
    _require(decision, outcome)
    name = "agent" if by is None and agent is not None else "by"
    fields = {"decision_id": decision, "outcome": outcome, "actual_result": result, "lessons": lessons, "notes": notes}
    source = source_of_agent(target, name, by or agent)
    reviewed = convert_options(fields, DecisionReviewed, {"decision_id": "DECISION", "actual_result": "result"})
    show(target, submit(target, REVIEW, reviewed, event_id, source), _print_reviewed)


def _print_reviewed(recorded: "RecordedReview") -> None:
    state = "there already" if recorded.duplicate else "recorded"
    print_note(f"Review of {recorded.decision_id} {state} at position {recorded.position:,}.")
    typer.echo(recorded.decision_id)


def _require(decision: str | None, outcome: str | None) -> None:
    """Check that a review has what it needs. Errors: InvalidQuery."""
    if decision is None:
        raise InvalidQuery("decision", "Missing argument 'DECISION'.", "See --help.")
    if outcome is None:
        raise InvalidQuery("outcome", "Missing option '--outcome'.", "See --help.")


def _refuse(kind: str, given_values: "Mapping[str, object]") -> None:
    """Refuse options that only the other use takes. Errors: InvalidQuery."""
    for name, value in given_values.items():
        if value is not None:
            advice = "Leave it out, or add --sample." if kind == "decision" else "Leave it out."
            with_what = {"sample": "--sample", "resolved_by": "--resolved-by"}.get(kind, "a review")
            raise InvalidQuery(name, f"it does not go with {with_what}.", advice)


def _print_sample(target: LedgerTarget, parameters: dict[str, str]) -> None:
    """Draw a sample and print it."""
    from api.cli.render.review_sample import print_review_sample
    from api.parameters import parse_params
    from api.service.calibration_params import ReviewSampleParams
    from api.service.review_sample import get_review_sample

    as_of = parameters.pop("as_of", None)
    answer = ask(target, get_review_sample, parse_params(ReviewSampleParams, parameters), as_of)
    show(target, answer, lambda sample: print_review_sample(sample, parameters))


def _print_audit(target: LedgerTarget, parameters: dict[str, str]) -> None:
    """Draw decisions that a rule reviewed, and print them. Errors: InvalidQuery, for a filter of other samples."""
    from api.cli.render.decision_tests import print_audit
    from api.parameters import parse_params
    from api.service.rule_audit import RuleAuditQuery, get_rule_audit

    as_of = parameters.pop("as_of", None)
    _refuse(
        "resolved_by", {name: parameters.get(name) for name in ("agent", "category", "stakes", "project", "feature")}
    )
    show(target, ask(target, get_rule_audit, parse_params(RuleAuditQuery, parameters), as_of), print_audit)
