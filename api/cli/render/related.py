"""Print what happened under a correlation id."""

from api.cli.output import open_console, print_note, table_of, truncate
from api.cli.render.calibration import format_as_of
from api.service.related_events import RelatedEvents
from api.text_format import format_figure, one_line, pluralize


def print_related(answer: RelatedEvents) -> None:
    """Print the events, then a line for each decision and score."""
    console = open_console()
    console.print(f"{pluralize(len(answer.events), 'event')} with the correlation id {one_line(answer.correlationid)}.")
    if answer.events:
        table = table_of(
            answer.events,
            {"position": lambda event: str(event.position), "time (UTC)": "time", "type": "type", "subject": "subject",
             "agent": "agent"},
            right=("position",), wrap=("subject", "agent"),
        )  # fmt: skip
        console.print(table)
    for state in answer.decisions:
        outcome = "not reviewed" if state.review is None else state.review.outcome
        console.print(
            f"Decision {state.decision_id}: {truncate(one_line(state.decision.decision))} "
            f"Confidence {format_figure(state.decision.confidence)}, {outcome}."
        )
    for score in answer.evaluation_scores:
        points = "no score" if score.total_score is None else f"{score.total_score:.1f} points"
        console.print(
            f"Evaluation {score.run_id}, {one_line(score.scenario_id)}, attempt {score.attempt}: "
            f"{score.state}, {points}."
        )
    for probed in answer.probe_scores:
        console.print(
            f"Probe {one_line(probed.probe_id)}, score {probed.score_id}: {format_figure(probed.total_score)}, model "
            f"{one_line(probed.model_name or '-')}."
        )
    console.print(format_as_of(answer.as_of), style="dim")
    if answer.next is not None:
        print_note(f"Next page: --after {answer.next}")
