"""Use cases of the operator: which tokens and which webhooks a ledger has, without their secrets."""

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlsplit

import msgspec

from api.principal import Principal, ReviewPolicy, Scope
from api.service.ledger import LedgerService
from api.service.shared_fields import shared_fields
from api.service.webhooks.endpoint_store import EndpointStore
from projections.webhook_index import EndpointState, WebhookIndex


class TokenRow(msgspec.Struct, frozen=True, kw_only=True):
    """A token: the id by which it is revoked, its agent, what it allows, and until when (None: without end)."""

    id: str
    agent: str
    scopes: tuple[Scope, ...]
    review: ReviewPolicy
    created: datetime
    expires: datetime | None
    expired: bool


class WebhookRow(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook: its receiver, what it gets, and how its events ended; `state` is None before a server started it.

    `receiver` is the host alone: the rest of an address is often a secret.
    """

    id: str
    receiver: str
    kinds: tuple[str, ...]
    created: datetime
    state: EndpointState | None


def list_tokens(ledger: LedgerService, caller: Principal) -> Sequence[TokenRow]:
    """Return the tokens, oldest first. Errors: Forbidden, without the scope `admin`; LedgerUnusable."""
    caller.require("admin")
    now = ledger.clock()
    return [
        TokenRow(**shared_fields(token, TokenRow), expired=token.expires is not None and token.expires <= now)
        for token in ledger.tokens.list()
    ]


async def list_webhooks(ledger: LedgerService, caller: Principal) -> Sequence[WebhookRow]:
    """Return the webhooks, oldest first. Errors: Forbidden, without the scope `admin`; LedgerUnusable."""
    caller.require("admin")
    index, _ = await ledger.at(WebhookIndex)
    return [
        WebhookRow(
            **shared_fields(endpoint, WebhookRow),
            receiver=urlsplit(endpoint.url).netloc,
            state=index.endpoint(endpoint.id),
        )
        for endpoint in EndpointStore(ledger.path).list()
    ]
