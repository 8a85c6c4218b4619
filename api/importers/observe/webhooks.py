"""Receive what systems send when something happens: store it as evidence, then record what it says.

A body that is not understood is stored, too, so that a better reader can read it again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from hmac import compare_digest
from hmac import new as hmac_of
from typing import Final, NamedTuple

import msgspec

from api.importers.adopt.observations import observation
from api.importers.batch_append import append_all
from api.importers.observe.alerts import ALERTMANAGER, observe_sent
from api.importers.observe.forge_webhooks import observe_forge, read_github, read_gitlab
from api.importers.observe.registered import ForgeKind
from api.principal import Principal
from api.service.evaluation.alert_receiver import AlertmanagerWebhook
from api.service.evidence import Blob, digest_of
from api.service.ledger import LedgerService
from api.service.store import LocalStore
from events.decode_error_messages import DECODE_ERRORS
from events.envelope import Draft, source_of
from events.errors import MalformedInput
from events.observation import ObservationRecorded
from events.registry import VOCABULARY
from ledger.errors import Gone
from projections.changes.change_index import ChangeIndex
from projections.changes.recorded_requests import FORGE

RECEIVED_AT_ONCE: Final = 2
"""Large bodies of a forge that are received at once: anybody may begin one."""

_decode_alerts = msgspec.json.Decoder(AlertmanagerWebhook).decode


class ReceivedWebhook(msgspec.Struct, frozen=True, kw_only=True):
    """What was recorded of something that a system sent."""

    digest: str
    """SHA-256 of the body, which is stored as evidence."""
    observed: int
    """How many observations it has that are new."""


class ForgeReceiver(NamedTuple):
    """A forge that may send webhooks: its kind, the secret that it signs with, and the repository they are about."""

    name: str
    kind: ForgeKind
    secret: bytes
    project: str
    repository: str
    turns: asyncio.Semaphore
    """Who may send a large body, of which it is not known yet whether it is signed."""

    def __repr__(self) -> str:
        return f"ForgeReceiver({self.name!r})"  # without the secret

    @property
    def caller(self) -> Principal:
        """The caller as whom it is recorded."""
        return Principal(self.name, source_of(self.name), frozenset(("append", "observe")))

    def may_accept(self, headers: Mapping[str, str]) -> bool:
        """Return False if a request without its body is not from one who knows the secret."""
        if self.kind == "gitlab":
            return compare_digest(headers.get("x-gitlab-token", "").encode("latin-1"), self.secret)
        return "x-hub-signature-256" in headers

    def accepts(self, headers: Mapping[str, str], body: bytes) -> bool:
        """Return whether a body comes from one who knows the secret."""
        if self.kind == "gitlab":
            return self.may_accept(headers)
        signature = f"sha256={hmac_of(self.secret, body, sha256).hexdigest()}"
        return compare_digest(headers.get("x-hub-signature-256", "").encode(), signature.encode())


async def receive_alerts(ledger: LedgerService, caller: Principal, body: bytes) -> ReceivedWebhook:
    """Record what Alertmanager sends. Errors: MalformedInput; those of `LedgerService.record`."""
    now_s = int(ledger.clock().timestamp())

    async def understand() -> Sequence[Draft]:
        return [observation(ALERTMANAGER, one, 0, caller.agent) for one in observe_sent(_decode_alerts(body), now_s)]

    return await _receive(ledger, caller, ALERTMANAGER, body, understand)


async def receive_forge(
    ledger: LedgerService, receiver: ForgeReceiver, headers: Mapping[str, str], body: bytes
) -> ReceivedWebhook:
    """Record what a forge sends about requests. Errors: MalformedInput; those of `LedgerService.record`."""

    async def understand() -> Sequence[Draft]:
        is_github = receiver.kind == "github"
        event = read_github(headers.get("x-github-event", ""), body) if is_github else read_gitlab(body)
        if not event.project:
            return ()
        if event.project != receiver.project:
            raise msgspec.ValidationError(f"It is about {event.project!r}, the webhook about {receiver.project!r}")
        index, _ = await ledger.at(ChangeIndex)
        state = index.repository(receiver.repository)
        observed = observe_forge(event, receiver.repository, state)
        return [observation(FORGE, one, state.request_scans, receiver.name) for one in observed]

    return await _receive(ledger, receiver.caller, receiver.kind, body, understand)


async def _receive(
    ledger: LedgerService,
    caller: Principal,
    source: str,
    body: bytes,
    understand: Callable[[], Awaitable[Sequence[Draft]]],
) -> ReceivedWebhook:
    store, digest = LocalStore(ledger, caller), digest_of(body)
    received_id = digest_of(f"{caller.agent}\n{digest}".encode())  # several may send the same
    received = ObservationRecorded(
        observation_id=received_id, event_type="webhook.received", source=source, payload_digest=digest,
        payload_bytes=len(body),
    )  # fmt: skip
    with suppress(Gone):  # the same was erased: what is sent again and again still says something
        async with store.keep([Blob(body, "application/json")]) as stored:
            draft = VOCABULARY.draft_of(received, id=f"observation:{received_id}", time=ledger.clock())
            await store.append([*stored, draft])
    try:
        drafts = await understand()
        for draft in drafts:
            msgspec.convert(msgspec.to_builtins(draft.data), type(draft.data))
    except (*DECODE_ERRORS, ValueError, OverflowError) as error:  # also a time that no calendar has
        detail = f"The body is stored as evidence {digest}, and is not understood: {error}."
        raise MalformedInput(detail, f"Check the settings of the webhook at {source}.") from None
    return ReceivedWebhook(digest=digest, observed=await append_all(drafts, store))
