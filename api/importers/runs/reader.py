"""Read, decode and check run reports, before anything is written."""

import re
from datetime import UTC, datetime

import msgspec

from events.decode_error_messages import DECODE_ERRORS, explain_decode_error
from events.errors import InvalidEvent, MalformedInput
from events.limits import BODY_BYTES_MAX, STREAM_ID_CHARS_MAX
from events.payload import COUNT_MAX, STREAM_ID_PATTERN, STREAM_ID_SHAPE
from ledger.regular_file import open_input
from projections.discovery.run_report import TOTAL_KEY, RunReport, report_models

_decode = msgspec.json.Decoder(RunReport).decode
_run_id = re.compile(STREAM_ID_PATTERN)
_time = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)

MIB = 1 << 20

TIME_CHARS_MAX = 64
"""Characters of an invalid time that an error quotes."""


def read_report(path: str) -> bytes:
    """Read a file, or standard input as `-`. Errors: MalformedInput."""
    try:
        with open_input(path) as file:
            body = file.read(BODY_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MalformedInput(f"It cannot be read: {reason}.", "Name a run report.") from None
    if len(body) > BODY_BYTES_MAX:
        raise MalformedInput(f"It is larger than {BODY_BYTES_MAX // MIB} MiB.", "Is it the report of one run?")
    return body


def decode_report(body: bytes) -> RunReport:
    """Decode and check a report. Errors: MalformedInput, InvalidEvent with its field."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    if not body.strip():
        raise MalformedInput("It is empty.", "A run report is one JSON object.")
    try:
        report = _decode(body)
    except DECODE_ERRORS as error:
        fields, whole = RunReport.__struct_fields__, "it is not a run report"
        raise explain_decode_error(error, (), fields=fields, shape=RunReport, body=body, whole=whole) from None
    _check(report)
    return report


def parse_time(field: str, text: str) -> datetime:
    """Parse an RFC 3339 time, to the microsecond. Errors: InvalidEvent."""
    try:
        if _time.fullmatch(text) is None:
            raise ValueError
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise _invalid(
            field,
            f"{text[:TIME_CHARS_MAX]!r} is not an RFC 3339 time",
            "Write it as in 2026-02-21T16:35:23.895071036+02:00.",
        ) from None


def _check(report: RunReport) -> None:
    """Check what the types do not. Errors: InvalidEvent."""
    run_id = report.run_id
    if run_id is not None and (len(run_id) > STREAM_ID_CHARS_MAX or _run_id.fullmatch(run_id) is None):
        raise _invalid("run_id", f"{report.run_id!r} cannot name a run", f"Use {STREAM_ID_SHAPE}.")
    parse_time("start_time", report.start_time)
    if report.end_time is not None:
        parse_time("end_time", report.end_time)
    if (report.end_time is None) != (report.termination_reason is None):
        missing = "end_time" if report.end_time is None else "termination_reason"
        raise _invalid(missing, "is missing, and the other is there", "A run that ended has both.")
    if report.termination_reason == "":
        raise _invalid("termination_reason", "is empty", "Say why the run ended.")
    _check_results(report)
    if report.end_time is None and report.unique_models not in (None, report_models(report)):
        raise _invalid("unique_models", "differ from the results", "Omit them for a run that has not ended.")


def _check_results(report: RunReport) -> None:
    seen: dict[int, int] = {}
    for number, result in enumerate(report.results or ()):
        path = f"results[{number}]"
        parse_time(f"{path}.timestamp", result.timestamp)
        first = seen.setdefault(result.iteration, number)
        if first != number:
            detail = f"{result.iteration} is the iteration of results[{first}], too"
            raise _invalid(f"{path}.iteration", detail, "Number the results 0, 1, 2.")
        probe = result.probe
        for name in ("probe_id", "raw_output"):
            if getattr(probe, name) is None:
                raise _invalid(f"{path}.probe.{name}", "is required and missing", "Add it.")
        if probe.output_digest is not None or probe.erased is not None:
            raise _invalid(f"{path}.probe", "has a digest in place of its output", "Give the output itself.")
        _check_score(f"{path}.probe.score", probe.score or {})


def _check_score(field: str, score: dict[str, int | float]) -> None:
    for name, value in score.items():
        if name == TOTAL_KEY and not 0 <= value <= 1:
            raise _invalid(f"{field}.{name}", f"{value} is not a number from 0 to 1", "Correct the value.")
        if name != TOTAL_KEY and not (isinstance(value, int) and abs(value) <= COUNT_MAX):
            raise _invalid(f"{field}.{name}", f"{value} is not a count", f"Only {TOTAL_KEY} may be a fraction.")


def _invalid(field: str, detail: str, advice: str) -> InvalidEvent:
    return InvalidEvent(f"{field}: {detail}.", advice, field=field)
