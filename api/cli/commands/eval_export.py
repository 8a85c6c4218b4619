"""eval export: the scores of an evaluation as OpenTelemetry events, into a file or to a receiver of OTLP."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb

if TYPE_CHECKING:
    from api.client.otlp_sender import SentScores
    from events.envelope import Event


@verb(server=True, reads=True)
def export_scores(
    target: LedgerTarget,
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id, or an unambiguous beginning of it.")],
    *,
    to: Annotated[
        Path | None, typer.Option("--to", help="A new file; without it and --otlp, standard output.", metavar="FILE")
    ] = None,
    otlp: Annotated[
        str | None,
        typer.Option(help="A receiver of OTLP over HTTP: a Collector, or another ledger's server.", metavar="URL"),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(help="A header for it, besides OTEL_EXPORTER_OTLP_HEADERS.", metavar="NAME=VALUE"),
    ] = None,
) -> None:
    """Export the scores of an evaluation as OpenTelemetry events.

    Each score is a log record of the event gen_ai.evaluation.result. A file has a request of OTLP/JSON on each line. A
    receiver gets the same requests; Tallystick as the receiver adds no score twice. Exit code 1: it rejected some.

    Example: tallystick eval export 3f2a9c1e --to scores.jsonl

    Example: tallystick eval export 3f2a9c1e --otlp http://127.0.0.1:4318
    """
    import asyncio
    import os

    from api.cli.open_ledger import ask
    from api.cli.output import print_json, print_note
    from api.client.otlp_sender import logs_url, read_headers, send_scores
    from api.export.output_path import check_output
    from api.service.evaluation.evaluation_params import EvaluationParams
    from api.service.evaluation.queries import get_evaluation
    from api.service.otlp.exported_scores import export_requests
    from ledger.errors import InvalidQuery

    if to is not None and otlp is not None:
        raise InvalidQuery("to", "--to and --otlp exclude each other.", "Give one of them.")
    if header and otlp is None:
        raise InvalidQuery("header", "--header is for --otlp, which is missing.", "Give --otlp URL.")
    headers = read_headers(os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", ""), header or ()) if otlp is not None else {}
    if otlp is not None:
        logs_url(otlp)
    if to is not None:
        check_output(to, "to")
    evaluation = ask(target, get_evaluation, EvaluationParams(run=run_id, prefix=True))
    requests = list(export_requests(evaluation, asyncio.run(_events(target, evaluation.run_id))))
    if otlp is not None:
        sent = asyncio.run(send_scores(otlp, headers, requests))
        if target.json:
            print_json(sent)
        else:
            _note(sent, evaluation.run_id)
        raise typer.Exit(1 if sent.rejected else 0)
    lines = b"".join(request + b"\n" for request in requests)
    if to is None:
        typer.echo(lines.decode(), nl=False)
        return
    _write(to, lines)
    print_note(f"Scores of {evaluation.run_id} written to {to}.")


async def _events(target: LedgerTarget, run_id: str) -> "list[Event]":
    from api.cli.open_ledger import open_store
    from events.registry import VOCABULARY

    async with open_store(target, writable=False) as store:
        return list(VOCABULARY.events(await store.streams([f"evaluation/{run_id}"])))


def _write(path: Path, lines: bytes) -> None:
    """Write a new file. Errors: InvalidQuery."""
    from ledger.atomic_file import write_text
    from ledger.errors import InvalidQuery

    try:
        write_text(path, lines.decode(), exclusive=True)
    except OSError as error:
        raise InvalidQuery("to", f"{path} cannot be written: {error.strerror}.", "Name another file.") from None


def _note(sent: "SentScores", run_id: str) -> None:
    from api.cli.output import print_note
    from api.text_format import pluralize

    rejected = f"; it rejected {sent.rejected:,}: {' '.join(sent.messages)}" if sent.rejected else ""
    print_note(f"Scores of {run_id} sent in {pluralize(sent.requests, 'request')}{rejected}")
