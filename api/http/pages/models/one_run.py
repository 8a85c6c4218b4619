"""One discovery run attempt by attempt, and one attempt with its texts."""

from collections.abc import Mapping
from typing import NamedTuple

from api.http.pages.content import Content, address_of, list_links
from api.http.pages.page import page
from api.http.path_parameters import stream_id_parameter
from api.http.request import Call
from api.parameters import choice_parameter, integer_parameter
from api.service.discovery.run_attempts import AttemptQuery, RunProgress, show_run_attempts
from api.service.event_params import AS_OF, OFFSET, ORDER_ASCENDING
from projections.discovery.run_report import RunAttempt

RUN_ID = stream_id_parameter("run_id", "The run's id.")
NUMBER = integer_parameter("attempt", "The number of the attempt.", 0)

ATTEMPTS_SHOWN = 12
"""Attempts on a page: with 64 KiB of hostile text in each, the page remains below 200 KB."""

IDENTIFIED_SHOWN = 40

MARKS_SHOWN = 120
"""The newest attempts that are shown as a row of marks."""

TEXTS = ("prompt", "answer", "output")
TEXT = choice_parameter("text", "The text to read whole, piece by piece.", TEXTS)
START = integer_parameter("from", "The first character of the piece, counted from 0.", 0, default=0)

PIECE_CHARS = 12_000
"""Characters of a piece of the text that is read whole. Escaped, a hostile one has up to nine times as many bytes."""

EXCERPT_CHARS = 1_500
"""Characters of each other text."""


class TextPart(NamedTuple):
    """A part of a text of an attempt: its name, the characters from `start` on, and the size of the whole.

    `text` is None where the ledger has no such text; `why` then says what it has instead. `length` is that of the
    pieces in which the text is read whole; None: the part is the beginning.
    """

    name: str
    text: str | None
    why: str = ""
    start: int = 0
    size: int = 0
    length: int | None = None


@page("models/run", query=(ORDER_ASCENDING, OFFSET, AS_OF))
async def show_run(call: Call) -> Content:
    """Show one run, with a page of its attempts; live until it has ended."""
    run_id, parameters = call.path(RUN_ID), call.parameters
    query = AttemptQuery(limit=ATTEMPTS_SHOWN, offset=OFFSET.read(parameters), order=ORDER_ASCENDING.read(parameters))
    run = await show_run_attempts(await call.view(), run_id, query)
    path = f"/ui/models/runs/{run_id}"
    rows_shown = list_links(path, parameters, query.offset, query.limit, len(run.attempts), len(run.marks))
    variables: dict[str, object] = {
        "run": run,
        "rows_shown": rows_shown,
        "identified_shown": IDENTIFIED_SHOWN,
        "marks": run.marks[-MARKS_SHOWN:],
        "newest_first": query.order == "desc",
    }
    live = f"subject=discovery/{run_id}" if run.finished is None and "as_of" not in parameters else None
    return Content(f"Run {run_id}", variables, json=_json(call, run_id), live=live)


@page("models/attempt", query=(TEXT, START, AS_OF))
async def show_attempt(call: Call) -> Content:
    """Show one attempt with its prompt and its answer, also those that are stored as evidence."""
    run_id, number, parameters = call.path(RUN_ID), call.path(NUMBER), call.parameters
    query = AttemptQuery(limit=1, number=number, texts=True)
    run = await show_run_attempts(await call.view(), run_id, query)
    (attempt,) = run.attempts
    variables: dict[str, object] = {
        "run": run,
        "attempt": attempt,
        "run_path": f"/ui/models/runs/{run_id}",
        "texts": [_text_part(name, run, attempt, parameters) for name in TEXTS],
    }
    return Content(f"Attempt {number} of run {run_id}", variables, json=_json(call, run_id))


def _text_part(name: str, run: RunProgress, attempt: RunAttempt, parameters: Mapping[str, str]) -> TextPart:
    text, why = _text(name, run, attempt)
    if text is None:
        return TextPart(name, None, why)
    if TEXT.find(parameters) != name:
        return TextPart(name, text[:EXCERPT_CHARS], size=len(text))
    start = min(START.read(parameters), max(0, len(text) - 1))
    return TextPart(name, text[start : start + PIECE_CHARS], start=start, size=len(text), length=PIECE_CHARS)


def _json(call: Call, run_id: str) -> str:
    return address_of(f"/runs/{run_id}", {"include": "attempts,summary"}, as_of=call.parameters.get("as_of"))


def _text(name: str, run: RunProgress, attempt: RunAttempt) -> tuple[str | None, str]:
    """Return a text of an attempt; None, and the reason, if there is none."""
    if name == "prompt":
        parts = [part for part in (attempt.exclusion_prompt, run.task) if part]
        return ("\n".join(parts), "") if parts else (None, "The log has no text of this prompt.")
    text, digest = (
        (attempt.response, attempt.response_digest) if name == "answer" else (attempt.output, attempt.output_digest)
    )
    if text is None and digest is not None and not (name == "output" and digest == attempt.response_digest):
        text = run.texts.get(digest)
        if text is None and attempt.erased:
            return None, "This text was erased; its digest stays in the log."
    if text is not None:
        return text, ""
    if name == "output" and attempt.output_digest is not None and attempt.output_digest == attempt.response_digest:
        return None, "The whole answer is scored."
    return None, {"answer": "No text of an answer is recorded.", "output": "No part of the answer is scored."}[name]
