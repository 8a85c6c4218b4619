"""Print the links around a decision."""

from api.cli.output import figure, open_console, print_note, table_of
from api.cli.render.calibration import format_as_of
from api.service.decision_links import DecisionGraph, LinkedDecision
from api.text_format import format_count, pluralize


def print_graph(graph: DecisionGraph) -> None:
    """Print a table of the links, and one of the decisions that they join."""
    console = open_console()
    links = table_of(
        graph.links,
        {"from": "source_id", "type": "edge_type", "to": "target_id", "weight": figure("weight"),
         "time (UTC)": "created_at", "by": "created_by", "context": "context"},
        right=("weight",), wrap=("from", "to", "by"), cut=("context",), drop=("context", "by", "time (UTC)", "weight"),
    )  # fmt: skip
    decisions = table_of(
        graph.decisions,
        {"id": "decision_id", "time (UTC)": "recorded_at", "agent": "agent", "outcome": "outcome", "state": _state,
         "decision": "summary"},
        wrap=("id", "agent", "state"), cut=("decision",), drop=("time (UTC)", "agent", "outcome", "decision"),
    )  # fmt: skip
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
