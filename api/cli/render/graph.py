"""Print the links around a decision."""

from api.cli.output import make_table, open_console, print_note, truncate
from api.cli.render.calibration import format_as_of
from api.service.decision_links import DecisionGraph, LinkedDecision
from api.text_format import format_count, format_figure, format_time, one_line, pluralize


def print_graph(graph: DecisionGraph) -> None:
    """Print a table of the links, and one of the decisions that they join."""
    console = open_console()
    links = make_table(
        "from", "type", "to", "weight", "time (UTC)", "by", "context",
        right=("weight",), wrap=("from", "to", "by", "context"), drop=("context", "by", "time (UTC)", "weight"),
    )  # fmt: skip
    for link in graph.links:
        links.add_row(
            link.source_id,
            link.edge_type,
            link.target_id,
            format_figure(link.weight),
            format_time(link.created_at),
            one_line(link.created_by),
            truncate(one_line(link.context)) if link.context is not None else "-",
        )
    decisions = make_table(
        "id", "time (UTC)", "agent", "outcome", "state", "decision",
        wrap=("id", "agent", "state", "decision"), drop=("time (UTC)", "agent", "outcome", "decision"),
    )  # fmt: skip
    for decision in graph.decisions:
        decisions.add_row(
            decision.decision_id,
            format_time(decision.recorded_at) if decision.recorded_at is not None else "-",
            one_line(decision.agent),
            decision.outcome or "-",
            _state(decision),
            truncate(one_line(decision.summary)) if decision.summary is not None else "-",
        )
    if graph.links:
        console.print(links)
        console.print()
    console.print(decisions)
    console.print(format_as_of(graph.as_of), style="dim")
    print_note(f"{format_count(len(graph.links))} of {pluralize(graph.total, 'link')}.")


def _state(decision: LinkedDecision) -> str:
    if decision.recorded_at is None:
        return "not in the ledger"
    superseded = f"superseded by {', '.join(decision.superseded_by)}" if decision.superseded_by else ""
    retracted = "retracted" if decision.retracted else ""
    return "; ".join(filter(None, (retracted, superseded))) or "-"
