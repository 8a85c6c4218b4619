"""record: record a decision from options, without hand-written JSON."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, source_of_agent, verb
from api.cli.options import REASON_TYPES, STAKES, choice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from api.service.decision_writer import RecordedDecision
    from api.service.retrieval import SuppliedEmbedding

AgentName = Annotated[
    str | None,
    typer.Option(help="The agent that decides; without it the token's, or TALLYSTICK_AGENT.", metavar="NAME"),
]
Confidence = Annotated[
    float | None, typer.Option(help="The probability of success that the agent states, 0 to 1.", min=0, max=1)
]
Category = Annotated[str | None, typer.Option(help="The kind of decision.", metavar="WORD")]
Context = Annotated[str | None, typer.Option(help="The situation.", metavar="TEXT")]
Reasons = Annotated[
    list[str] | None,
    typer.Option(
        "--reason",
        help="A reason with its type, such as analysis; may be repeated.",
        metavar="TYPE:TEXT",
        autocompletion=lambda incomplete: [f"{kind}:" for kind in REASON_TYPES if kind.startswith(incomplete)],
    ),
]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="A label; may be repeated.", metavar="WORD")]
Project = Annotated[str | None, typer.Option(help="The project.", metavar="NAME")]
Feature = Annotated[str | None, typer.Option(help="The feature.", metavar="NAME")]
PullRequest = Annotated[int | None, typer.Option("--pr", help="The number of the pull request.", min=0)]
ReviewBy = Annotated[str | None, typer.Option(help="When its outcome should be reviewed.", metavar="TIME")]
Question = Annotated[
    str | None,
    typer.Option(help="The question it answers. Agents that answered the same one can be compared.", metavar="NAME"),
]
Cluster = Annotated[
    str | None,
    typer.Option(help="What its outcome depends on together with other decisions: a task, a session.", metavar="NAME"),
]
Model = Annotated[str | None, typer.Option(help="The language model that decides.", metavar="NAME")]
ReportedModel = Annotated[str | None, typer.Option(help="The model that the endpoint named.", metavar="NAME")]
Embedding = Annotated[
    str | None,
    typer.Option(help="A vector of the decision: a JSON array, or 32-bit floats in Base64.", metavar="NUMBERS"),
]
EmbeddingModel = Annotated[str | None, typer.Option(help="The model that made the vector.", metavar="NAME")]
DecisionId = Annotated[
    str | None, typer.Option("--id", help="The decision's id; without it the ledger makes one.", metavar="ID")
]
EventIdOption = Annotated[
    str | None, typer.Option(help="The event's id. Repeating the command with it adds nothing.", metavar="ID")
]


@verb(server=True)
def record(
    target: LedgerTarget,
    decision: Annotated[str, typer.Argument(metavar="TEXT", help="The decision in words.")],
    *,
    agent: AgentName = None,
    confidence: Confidence = None,
    category: Category = None,
    stakes: Annotated[str | None, choice("How much depends on it.", STAKES)] = None,
    context: Context = None,
    reason: Reasons = None,
    tag: Tags = None,
    project: Project = None,
    feature: Feature = None,
    pr: PullRequest = None,
    review_by: ReviewBy = None,
    question: Question = None,
    cluster: Cluster = None,
    model: Model = None,
    reported_model: ReportedModel = None,
    embedding: Embedding = None,
    embedding_model: EmbeddingModel = None,
    decision_id: DecisionId = None,
    event_id: EventIdOption = None,
) -> None:
    """Record a decision.

    Prints the id of the decision and its position. Pending thoughts of the agent become part of the decision.
    Guardrails that fire on it are named on standard error, and refuse nothing. With --event-id or --id the command can
    be repeated safely: the repetition adds nothing.

    Example: tallystick record "Use a connection pool" --agent claude --confidence 0.8 --stakes high --category tooling

    Example: tallystick record "Use a connection pool" --confidence 0.8 --reason "analysis:Handshakes take 40 ms"
    """
    import asyncio

    from api.cli.output import print_json
    from api.parameters import parse_instant

    fields = {
        "decision": decision,
        "confidence": confidence,
        "category": category,
        "stakes": stakes,
        "context": context,
        "reasons": [_parse_reason(text) for text in reason or ()],
        "tags": tag or (),
        "project": project,
        "feature": feature,
        "pr": pr,
        "review_by": parse_instant("review_by", review_by) if review_by is not None else None,
        "cluster": cluster,
        "model": model,
        "reported_model": reported_model,
        "decision_id": decision_id,
    }
    source = source_of_agent(target, "agent", agent)
    vector = _read_embedding(embedding, embedding_model)
    recorded = asyncio.run(_record(target, fields, event_id, source, question, vector))
    if target.json:
        print_json(recorded)
    else:
        _print(recorded)


def _print(recorded: "RecordedDecision") -> None:
    """Print the id of a decision, and on standard error what happened."""
    from api.cli.output import print_note
    from api.text_format import one_line, pluralize

    state = "there already" if recorded.duplicate else "recorded"
    thoughts = f", with {pluralize(recorded.thoughts, 'pending thought')}" if recorded.thoughts else ""
    print_note(f"Decision {recorded.decision_id} {state} at position {recorded.position:,}{thoughts}.")
    if recorded.links:
        print_note(f"It is linked to {pluralize(recorded.links, 'earlier decision')} that the agent's queries found.")
    for warning in recorded.guardrail_warnings or ():
        print_note(f"Guardrail ({warning.severity}): {one_line(warning.message)} ({warning.guardrail_id})")
    typer.echo(recorded.decision_id)


def _parse_reason(text: str) -> dict[str, str]:
    """Parse TYPE:TEXT into the fields of a reason. Errors: InvalidQuery."""
    from ledger.errors import InvalidQuery

    kind, colon, words = text.partition(":")
    if not colon or kind not in REASON_TYPES:
        detail = f"{text!r} does not begin with the type of the reason."
        raise InvalidQuery("reason", detail, f"Write TYPE:TEXT, with one of {', '.join(REASON_TYPES)}.")
    return {"type": kind, "text": words.strip()}


def _read_embedding(text: str | None, model: str | None) -> "SuppliedEmbedding | None":
    """Return the vector of the decision; None without one. Errors: InvalidQuery, InvalidEvent."""
    if text is None and model is None:
        return None
    from api.service.supplied_vector import embedding_to_record, parse_embedding

    return embedding_to_record(None if text is None else parse_embedding(text), model)


async def _record(
    target: LedgerTarget,
    fields: "Mapping[str, object]",
    event_id: str | None,
    source: str | None,
    question: str | None,
    embedding: "SuppliedEmbedding | None",
) -> "RecordedDecision":
    from api.cli.open_ledger import open_store
    from api.cli.payload import convert_options, convert_text
    from events.decision import DecisionRecorded
    from events.envelope import EventId
    from events.payload import Label

    decision = convert_options(fields, DecisionRecorded, options={"reasons": "reason", "tags": "tag"})
    event_id = convert_text("event_id", event_id, EventId)
    question = convert_text("question", question, Label)
    async with open_store(target) as store:
        return await store.record_decision(
            decision, event_id=event_id, source=source, question=question, embedding=embedding
        )
