"""eval label and eval labels: say whether answers are right, and list the answers that lack a label."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, source_of_agent, verb
from api.cli.options import AsOf
from projections.evaluation.query_params import QueueQuery

if TYPE_CHECKING:
    from api.service.answer_label import RecordedLabel


@verb(server=True)
def label(
    target: LedgerTarget,
    run_id: Annotated[
        str | None, typer.Argument(metavar="RUN", help="The run's id, or an unambiguous beginning of it.")
    ] = None,
    scenario: Annotated[str | None, typer.Argument(metavar="SCENARIO", help="The scenario's id.")] = None,
    *,
    passed: Annotated[
        list[bool] | None, typer.Option("--pass/--fail", help="Whether the answer meets the criterion, or passes.")
    ] = None,
    attempt: Annotated[int, typer.Option(help="The number of the attempt.", metavar="N")] = 1,
    criterion: Annotated[
        str | None, typer.Option(help="The criterion; without it, the answer as a whole.", metavar="NAME")
    ] = None,
    note: Annotated[str | None, typer.Option(help="Why, in words.", metavar="TEXT")] = None,
    by: Annotated[
        str | None,
        typer.Option(help="The person; without it the token's agent, or TALLYSTICK_AGENT.", metavar="NAME"),
    ] = None,
    event_id: Annotated[
        str | None, typer.Option(help="The event's id. Repeating the command with it adds nothing.", metavar="ID")
    ] = None,
) -> None:
    """Label an answer: whether it meets a criterion, or passes as a whole.

    A label of a criterion is also the review of each judge's verdict on that answer. The latest label counts.

    Example: tallystick eval label 3f2a9c1e image-pull --criterion root_cause --pass --note "It names the image"
    """
    import asyncio

    from api.cli.output import print_json, print_note
    from ledger.errors import InvalidQuery

    if run_id is None or scenario is None:
        missing = "run" if run_id is None else "scenario"
        raise InvalidQuery(missing, f"Missing argument '{missing.upper()}'.", "List answers: tallystick eval labels.")
    if len(stated := set(passed or ())) != 1:
        detail = "Both '--pass' and '--fail' are given." if stated else "Missing option '--pass' or '--fail'."
        raise InvalidQuery("pass", detail, "Say whether the answer is right, by one of them.")
    fields = {
        "run_id": run_id,
        "scenario_id": scenario,
        "attempt": attempt,
        "criterion": criterion,
        "passed": stated.pop(),
        "note": note,
    }
    recorded = asyncio.run(_label(target, fields, event_id, source_of_agent(target, "by", by)))
    if target.json:
        print_json(recorded)
        return
    state = "there already" if recorded.duplicate else "recorded"
    reviewed = f"; verdicts reviewed: {recorded.reviews}" if recorded.reviews else ""
    print_note(f"Label {state} at position {recorded.position:,}{reviewed}.")
    typer.echo(recorded.label_id)


async def _label(
    target: LedgerTarget, fields: dict[str, object], event_id: str | None, source: str | None
) -> "RecordedLabel":
    from api.cli.open_ledger import open_store
    from api.cli.payload import convert_options, convert_text
    from api.service.answer_label import LabelToRecord
    from api.service.store import LABEL
    from events.envelope import EventId

    stated = convert_options(fields, LabelToRecord, {"run_id": "RUN", "scenario_id": "SCENARIO", "passed": "pass"})
    event_id = convert_text("event_id", event_id, EventId)
    async with open_store(target) as store:
        return await store.submit(LABEL, stated, event_id=event_id, source=source)


@verb(server=True, reads=True)
def labels(target: LedgerTarget, params: QueueQuery, as_of: AsOf = None) -> None:
    """List the judged answers that lack a label.

    Their order depends neither on verdicts nor on time, so that the first ones are a fair sample.

    Example: tallystick eval labels --suite examples --limit 20
    """
    from api.cli.open_ledger import ask, show
    from api.cli.render.judge_report import print_queue
    from api.service.evaluation.judge_queries import get_label_queue

    show(target, ask(target, get_label_queue, params, as_of), print_queue)
