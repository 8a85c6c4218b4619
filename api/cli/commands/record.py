"""record: record a decision from options, without hand-written JSON."""

from typing import TYPE_CHECKING, Annotated, get_args

import msgspec
import typer

from api.cli.ledger_target import LedgerTarget, source_of_agent, verb
from api.service.declared_option import argument, option
from events.decision import ReasonType, Stakes

if TYPE_CHECKING:
    from api.service.decision_writer import RecordedDecision
    from api.service.retrieval import SuppliedEmbedding

REASON_TYPES = get_args(ReasonType)


class DecisionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `record`. Those that have the name of a field of a decision become that field."""

    decision: Annotated[str, argument("The decision in words.", "TEXT")]
    agent: Annotated[
        str | None, option("The agent that decides; without it the token's, or TALLYSTICK_AGENT.", "NAME")
    ] = None
    confidence: Annotated[
        float | None, option("The probability of success that the agent states, 0 to 1.", ge=0, le=1)
    ] = None
    category: Annotated[str | None, option("The kind of decision.", "WORD")] = None
    stakes: Annotated[Stakes | None, option("How much depends on it.")] = None
    context: Annotated[str | None, option("The situation.", "TEXT")] = None
    reason: Annotated[
        tuple[str, ...],
        option(
            "A reason with its type, such as analysis; may be repeated.",
            metavar="TYPE:TEXT",
            autocompletion=lambda incomplete: [f"{kind}:" for kind in REASON_TYPES if kind.startswith(incomplete)],
        ),
    ] = ()
    tags: Annotated[tuple[str, ...], option("A label; may be repeated.", "WORD", name="--tag")] = ()
    project: Annotated[str | None, option("The project.", "NAME")] = None
    feature: Annotated[str | None, option("The feature.", "NAME")] = None
    pr: Annotated[int | None, option("The number of the pull request.", ge=0)] = None
    review_by: Annotated[str | None, option("When its outcome should be reviewed.", "TIME")] = None
    question: Annotated[
        str | None, option("The question it answers. Agents that answered the same one can be compared.", "NAME")
    ] = None
    test: Annotated[
        str | None, option("How its outcome will be known: a rule and its window, git.kept:14d.", "RULE:WINDOW")
    ] = None
    cluster: Annotated[
        str | None, option("What its outcome depends on together with other decisions: a task, a session.", "NAME")
    ] = None
    model: Annotated[str | None, option("The language model that decides.", "NAME")] = None
    reported_model: Annotated[str | None, option("The model that the endpoint named.", "NAME")] = None
    embedding: Annotated[
        str | None, option("A vector of the decision: a JSON array, or 32-bit floats in Base64.", "NUMBERS")
    ] = None
    embedding_model: Annotated[str | None, option("The model that made the vector.", "NAME")] = None
    decision_id: Annotated[
        str | None, option("The decision's id; without it the ledger makes one.", "ID", name="--id")
    ] = None
    event_id: Annotated[str | None, option("The event's id. Repeating the command with it adds nothing.", "ID")] = None


@verb(server=True)
def record(target: LedgerTarget, options: DecisionOptions) -> None:
    """Record a decision.

    Prints the id of the decision and its position. Pending thoughts of the agent become part of the decision.
    Guardrails that fire on it are named on standard error, and refuse nothing. With --event-id or --id the command can
    be repeated safely: the repetition adds nothing. With --test, `tallystick resolve` reviews the decision from what is
    observed: of the change whose commit has the trailer `Tallystick-Decision: ID`, of the request --pr, or of what the
    test names (git.kept:14d:subject=commit:3f2a9c1).

    Example: tallystick record "Use a connection pool" --agent claude --confidence 0.8 --stakes high --category tooling

    Example: tallystick record "Use a connection pool" --confidence 0.8 --reason "analysis:Handshakes take 40 ms"

    Example: tallystick record "Cache the token" --confidence 0.8 --test git.kept:14d
    """
    import asyncio

    from api.cli.output import print_json

    source = source_of_agent(target, "agent", options.agent)
    recorded = asyncio.run(_record(target, options, source))
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


async def _record(target: LedgerTarget, options: DecisionOptions, source: str | None) -> "RecordedDecision":
    from api.cli.open_ledger import open_store
    from api.cli.payload import convert_options, convert_text
    from api.parameters import parse_instant
    from api.service.decision_writer import DecisionRequest
    from events.decision import DecisionRecorded
    from events.envelope import EventId
    from events.payload import Label

    fields: dict[str, object] = {
        name: getattr(options, name) for name in DecisionRecorded.__struct_fields__ if hasattr(options, name)
    }
    fields["reasons"] = [_parse_reason(text) for text in options.reason]
    if options.review_by is not None:
        fields["review_by"] = parse_instant("review_by", options.review_by)
    decision = convert_options(fields, DecisionRecorded, options={"reasons": "reason", "tags": "tag"})
    event_id = convert_text("event_id", options.event_id, EventId)
    question = convert_text("question", options.question, Label)
    embedding = _read_embedding(options.embedding, options.embedding_model)
    async with open_store(target) as store:
        request = DecisionRequest(
            decision=decision, event_id=event_id, question=question, test=options.test, embedding=embedding
        )
        return await store.record_decision(request, source=source)
