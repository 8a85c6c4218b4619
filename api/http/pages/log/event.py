"""One event: its attributes, payload, bytes, neighbours and proof."""

from collections.abc import Mapping

import msgspec

from api.http.pages.content import Content, address_of
from api.http.pages.log.subject_address import LOG, stream_address, subject_address
from api.http.pages.page import page
from api.http.path_parameters import POSITION
from api.http.request import Call
from api.service.event_record import EventRecord, find_event
from events.envelope import agent_of
from ledger.transparency.signed_note import encode_base64

SHOWN_CHARS_MAX = 8_000
"""Characters of the payload and of the line that the page shows; both are whole in the JSON route."""

RELATED_BEFORE = 10_000
"""Events before this one from which the page of its correlation id searches: what belongs together is often near."""


@page("log/event")
async def show_event(call: Call) -> Content:
    """Show the event at a position."""
    record = await find_event(call.ledger, call.path(POSITION))
    subject, correlation = str(record.attributes["subject"]), record.attributes.get("correlationid")
    author = agent_of(str(record.attributes["source"]))
    after = max(0, record.position - RELATED_BEFORE)
    variables = {
        "record": record,
        "attributes": _attributes(record),
        "subject": subject,
        "about": subject_address(subject),
        "stream": stream_address(subject),
        "author": author,
        "from_author": address_of(LOG, {}, source=author),
        "related": correlation and address_of(f"{LOG}/related", {}, correlationid=correlation, after=after or None),
        "payload": msgspec.json.format(msgspec.json.encode(record.data), indent=2).decode(),
        "line": record.line.decode(errors="replace"),
        "base64": encode_base64,
        "shown_max": SHOWN_CHARS_MAX,
        "json_proof": _proof_address(record),
    }
    return Content(f"Event {record.position:,}", variables, json=f"/events/{record.position}")


def _attributes(record: EventRecord) -> Mapping[str, str]:
    """Return the attributes as text, without those that the page shows in another way."""
    shown = {"position", "subject", "source", "correlationid", "causationid"}
    return {name: str(value) for name, value in record.attributes.items() if name not in shown}


def _proof_address(record: EventRecord) -> str | None:
    """Return the address of the same proof as JSON."""
    if record.proof is None:
        return None
    return address_of("/proofs/inclusion", {}, position=record.position, size=record.proof.inclusion.size)
