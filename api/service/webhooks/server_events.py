"""Append the events that only a server appends."""

import asyncio
from collections.abc import Sequence
from uuid import uuid4

from api.service.server_log import log
from events.envelope import Draft, source_of
from events.payload import Payload
from events.registry import VOCABULARY
from ledger.errors import LedgerBusy, LedgerFull, LedgerUnavailable
from ledger.log import Log
from ledger.threads import wait_until_done

SOURCE = source_of("tallystick")
"""The source of these events."""

RETRY_S = 1.0
"""Seconds between two tries to append, while the ledger cannot be written."""


class ServerEvents:
    """Appends events in the name of the server, and tries again until the ledger has them."""

    def __init__(self, writer: Log) -> None:
        self._writer = writer

    async def record(self, payloads: Sequence[Payload], causes: Sequence[str] = ()) -> None:
        """Append a batch. `causes` are the ids that the events state as their `causationid`.

        It returns once the events are committed. Errors: AppendRefused.
        """
        drafts = [_draft(payload, causes[index] if causes else None) for index, payload in enumerate(payloads)]
        failed = ""
        while True:
            try:
                await wait_until_done(asyncio.ensure_future(self._writer.append(drafts)))
                return
            except (LedgerBusy, LedgerFull, LedgerUnavailable) as error:
                if str(error) != failed:
                    log.error("webhook events", reason=str(error), advice="Nothing is lost: they are appended later.")
                failed = str(error)
                await asyncio.sleep(RETRY_S)


def _draft(payload: Payload, cause: str | None) -> Draft:
    """Return the draft of a payload. Its id is random, so that no agent can take it before; retries have the same."""
    return VOCABULARY.draft_of(payload, id=str(uuid4()), source=SOURCE, causationid=cause)
